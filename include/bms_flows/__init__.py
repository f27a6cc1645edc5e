"""The work: invoices, onboarding, mirrors; pure decisions apart from input and output; knows no Airflow."""
