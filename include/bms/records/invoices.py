"""Client invoices (ERP)."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final

from bms.records.declaration import Day, Field, Flag, Number, Record, Text, Time, public

_LABEL: Final = "Label of the code; bms.code_name has both languages."


class ClientInvoice(Record, kw_only=True):
    """Client invoice list item (GET /v1/ERP/invoices/clients) of the requested entity."""

    KEY: ClassVar[str] = "id_invoice"

    id_invoice: Annotated[int, public("Identifier of the invoice in the service.")]
    reference_number: Annotated[Text, public("Number printed on the invoice.")] = None
    invoice_date: Annotated[Day, public("Date of the invoice.")] = None
    due_date: Annotated[Day, public("Due date.")] = None
    invoice_type: Annotated[
        Text, public("Type code; values unspecified by the service.", code=True)
    ] = None
    invoice_type_name: Annotated[Text, public(_LABEL, label_of="invoice_type")] = None
    id_client: Annotated[Number, public("Client billed.")] = None
    client_name: Annotated[Text, Field("Name of the client, verbatim.")] = None
    po_number: Annotated[Text, public("Purchase order of the client.")] = None
    vat_number: Annotated[Text, Field("VAT number of the client.")] = None
    invoice_subject: Annotated[Text, Field("Subject of the invoice.")] = None
    total_excl_vat: Annotated[Decimal, public("Amount without VAT, in currency.")]
    total_vat: Annotated[Decimal, public("VAT, in currency.")]
    total_incl_vat: Annotated[Decimal, public("Amount with VAT, in currency.")]
    total_due: Annotated[Decimal, public("Amount still to be paid, in currency.")]
    currency: Annotated[Text, public("Currency of the four amounts.", code=True)] = None
    payment_mode: Annotated[
        Text, public("Payment mode code; values unspecified by the service.", code=True)
    ] = None
    payment_mode_name: Annotated[Text, public(_LABEL, label_of="payment_mode")] = None
    status: Annotated[
        Text, public("Status code; values unspecified by the service.", code=True)
    ] = None
    status_name: Annotated[Text, public(_LABEL, label_of="status")] = None
    id_account_manager: Annotated[Number, public("Account manager of the client.")] = None
    created_on: Annotated[Time, public("Time of creation in the service.")] = None
    created_by: Annotated[Number, public("User who created the invoice.")] = None
    canceled: Annotated[Flag, public("Whether the invoice is canceled.")] = None
    canceled_on: Annotated[Time, public("Time of cancellation.")] = None
    canceled_by: Annotated[Number, public("User who canceled the invoice.")] = None
    id_credit: Annotated[Number, public("Credit note of the invoice.")] = None
    sent: Annotated[Flag, public("Whether the invoice was sent to the client.")] = None
    sent_on: Annotated[Time, public("Time of sending.")] = None
    sent_by: Annotated[Number, public("User who sent the invoice.")] = None
