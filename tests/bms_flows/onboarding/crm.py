"""Files of employees, contacts and consultants, as the flows' tests drop them."""

HEADS = {
    "employee": "id_entity;payroll_number;last_name;first_name;start_date",
    "contact": "last_name;first_name;email;phone_mobile_number;imported_company_name;contact_domains",
    "consultant": "last_name;first_name;email;phone_mobile_number;birth_year;skill1_id",
}


def people(resource: str, *rows: str) -> bytes:
    """A file of a resource with the columns of `HEADS`."""
    return "\n".join([HEADS[resource], *rows, ""]).encode()


TWO = {
    "contact": people(
        "contact",
        "Lefèvre;Aurélie;aurelie.lefevre@depot.example;06 00 00 00 01;Dépôt SA;3|7",
        "Martin;Paul;paul.martin@depot.example;06 00 00 00 02;Dépôt SA;",
    ),
    "consultant": people(
        "consultant",
        "Lefèvre;Aurélie;aurelie.lefevre@depot.example;06 00 00 00 01;1988;4",
        "Martin;Paul;paul.martin@depot.example;06 00 00 00 02;1979;",
    ),
}
ADDRESSES = ("aurelie.lefevre@depot.example", "paul.martin@depot.example")
SHAPES = ("number", "string", "object", "named_object", "empty")
"""The answer to a create, whose shape the interface doesn't show; `empty` is unreadable."""
