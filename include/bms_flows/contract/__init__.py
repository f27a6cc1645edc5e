"""What the service does where its interface says nothing: asked of it, judged, kept with a date."""
