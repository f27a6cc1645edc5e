"""Everyday operations of pandas on invoices: the same results as with floats, and exact amounts."""

import io
import json
import pickle
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy

from bms import amount_array, dataframes, frames
from bms.arrays import as_floats
from bms.decoding import RecordReader
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.typed_rows import typed_rows

Operation = Callable[[Any], Any]
PRECISE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-8}
AMOUNTS = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
DAY, LATER = date(2026, 2, 1), date(2026, 3, 1)


def invoices(**options: Any) -> Any:
    """Return 40 invoices of three months, some without a client, a due date or an amount due."""
    rows = []
    for number in range(40):
        excl = Decimal(number * 7919 % 9973 - 500).scaleb(-2) * 100
        vat = (excl * Decimal("0.2")).quantize(Decimal("0.01"))
        day = date(2026, 1, 1) + timedelta(days=number * 2)
        rows.append(
            {
                "id_invoice": number,
                "id_client": number % 7 or None,
                "status": ("PAID", "SENT", "LATE")[number % 3],
                "invoice_date": str(day),
                "due_date": str(day + timedelta(days=30)) if number % 11 else None,
                "created_on": f"{day}T08:00:00Z",
                "currency": "EUR" if number % 5 else "CHF",
                "total_excl_vat": float(excl),
                "total_vat": float(vat),
                "total_incl_vat": float(excl + vat),
                "total_due": float(excl + vat) if number % 4 else 0,
            }
        )
    record = BY_OPERATION["list_client_invoices"]
    read = RecordReader(BY_NAME["list_client_invoices"], record).rows(json.dumps(rows).encode())
    return dataframes.dataframe(record, typed_rows(read, record, "Europe/Paris"), **options)


def plain(frame: Any) -> Any:
    """Return results as plain pandas, with floats in place of amounts."""
    if isinstance(frame, pd.DataFrame):
        columns = {name: plain(frame[name]) for name in frame.columns}
        return pd.DataFrame(columns, index=frame.index, columns=frame.columns)
    if isinstance(frame, pd.Series):
        amount = "decimal" in str(frame.dtype) or str(frame.dtype) in ("Float64", "double[pyarrow]")
        # Before pandas 3.1, a mean of decimals is a Decimal in a column of objects.
        amount |= frame.dtype == object and isinstance(frame.iloc[0], Decimal)
        return pd.Series(frame.astype("float64") if amount else frame)
    return float(frame) if isinstance(frame, Decimal) else frame


EXACT: dict[str, Operation] = {
    "plus": lambda f: f.total_excl_vat + f.total_vat,
    "minus": lambda f: f.total_incl_vat - f.total_due,
    "product": lambda f: f.total_vat * f.total_excl_vat,
    "ratio": lambda f: f.total_vat / f.total_incl_vat,
    "ratio of a total": lambda f: f.total_vat / f.total_vat.sum(),
    "share of a group": lambda f: (
        f.total_vat / f.groupby("status", observed=True)["total_vat"].transform("sum")
    ),
    "times 2": lambda f: f.total_vat * 2,
    "times 1.2": lambda f: f.total_vat * 1.2,
    "1.2 times": lambda f: 1.2 * f.total_vat,
    "times a flag": lambda f: f.total_vat * (f.status == "PAID"),
    "of several": lambda f: (f[["total_vat", "total_due"]] * 1.2)["total_due"],
    "shares of several": lambda f: (
        f[["total_vat", "total_due"]] / f[["total_vat", "total_due"]].sum()
    )["total_due"],
    "shares of rows": lambda f: f[["total_vat", "total_due"]].div(f.total_incl_vat, axis=0)[
        "total_due"
    ],
    "running total of a group": lambda f: f.groupby("id_client")["total_vat"].cumsum(),
    "running total of several": lambda f: f[["total_vat", "total_due"]].cumsum()["total_due"],
    "cummax": lambda f: f.total_vat.cummax(),
    "cummin of a group": lambda f: f.groupby("status", observed=True)["total_vat"].cummin(),
    "a value set": lambda f: f.total_vat.where(f.status == "PAID", 0.5),
    "some exchanged": lambda f: f.total_vat.where(f.currency == "EUR", f.total_vat * 1.0837),
    "floats set": lambda f: f.total_vat.where(f.currency == "EUR", pd.Series([1.5678] * 40)),
    "a share in place of NA": lambda f: f.total_due.where(f.total_due > 0).fillna(0.12345),
    "clip at a float": lambda f: f.total_vat.clip(upper=10.5),
    "an interest of days": lambda f: f.total_vat / 0.7 / 365,
    "concat of ratios": lambda f: pd.concat([f.total_vat / 3, f.total_vat], ignore_index=True),
    "a long formula": lambda f: (f.total_vat * 1.2 / 3 + f.total_due * 2) * f.total_vat / 7,
    "round": lambda f: f.total_vat.round(1),
    "abs": lambda f: f.total_vat.abs(),
    "cumsum": lambda f: f.total_vat.cumsum(),
    "diff": lambda f: f.total_vat.diff(),
    "nlargest of a column": lambda f: f.total_vat.nlargest(3),
    "clip": lambda f: f.total_vat.clip(0, 500),
    "fillna": lambda f: f.total_due.fillna(0),
    "a column set": lambda f: f.assign(net=f.total_incl_vat - f.total_vat)["net"],
}
OTHERS: dict[str, Operation] = {
    "sum": lambda f: f.total_vat.sum(),
    "mean": lambda f: f.total_vat.mean(),
    "describe": lambda f: f.total_vat.describe(),
    "describe a frame": lambda f: f[["total_vat", "total_due"]].describe(),
    "nlargest": lambda f: f.nlargest(5, "total_vat")["id_invoice"],
    "nsmallest": lambda f: f.nsmallest(5, ["total_due", "id_invoice"])["id_invoice"],
    "mean of several": lambda f: f[["total_vat", "total_due"]].mean(),
    "sums of all": lambda f: f.sum(numeric_only=True).astype(float),
    "mean of rows": lambda f: f[["total_vat", "total_due"]].mean(axis=1),
    "agg": lambda f: f.total_vat.agg(["sum", "mean"]).astype(float),
    "rank": lambda f: f.total_vat.rank(),
    "rank in a group": lambda f: f.groupby("status", observed=True)["total_vat"].rank(),
    "largest of a group": lambda f: f.groupby("status", observed=True)["total_vat"].idxmax(),
    "resample mean": lambda f: f.resample("MS", on="invoice_date")["total_vat"].mean(),
    "pivot_table of means": lambda f: f.pivot_table(
        index="id_client", columns="status", values="total_vat", observed=True
    ),
    "quantile": lambda f: f.total_vat.quantile(0.5),
    "sort_values": lambda f: f.sort_values("total_vat")["id_invoice"],
    "value_counts": lambda f: f.status.value_counts(),
    "groupby sum": lambda f: f.groupby("status", observed=True)["total_vat"].sum(),
    "groupby mean": lambda f: f.groupby("status", observed=True)["total_vat"].mean(),
    "groupby agg": lambda f: f.groupby("status", observed=True).agg(
        total=("total_vat", "sum"), largest=("total_due", "max"), count=("id_invoice", "count")
    ),
    "groupby dates": lambda f: f.groupby("invoice_date")["total_vat"].sum(),
    "resample": lambda f: f.set_index("invoice_date").resample("MS")["total_vat"].sum(),
    "resample on": lambda f: f.resample("MS", on="invoice_date")["total_vat"].sum(),
    "to_period": lambda f: f.groupby(f.invoice_date.dt.to_period("M"))["total_vat"].sum(),
    "year": lambda f: f.invoice_date.dt.year,
    "date and text": lambda f: f.invoice_date >= "2026-02-01",
    "date and Timestamp": lambda f: f.invoice_date >= pd.Timestamp("2026-02-01"),
    "between texts": lambda f: f.invoice_date.between("2026-02-01", "2026-03-01"),
    "isin": lambda f: f.status.isin(["PAID"]),
    "merge": lambda f: f.merge(
        f.groupby("id_client")["total_vat"].sum().reset_index(name="all"), on="id_client"
    )["all"],
    "concat": lambda f: pd.concat([f, f])["total_vat"],
    "query": lambda f: f.query("total_vat > 100 and status == 'PAID'")["id_invoice"],
    "query with a factor": lambda f: f.query("total_vat * 1.2 > total_due * 2")["id_invoice"],
    "concat of whole numbers": lambda f: pd.concat([f.total_vat, f.id_invoice]) * 1.2,
    "concat of floats": lambda f: pd.concat([f.total_vat, pd.Series([1.5])]) * 1.2,
    "cut": lambda f: pd.cut(f.total_vat, [-1000, 0, 500, 9999]).value_counts(),
    "age": lambda f: (pd.Timestamp("2026-04-01") - f.due_date).dt.days,
    "pivot_table": lambda f: f.pivot_table(
        index="id_client", columns="status", values="total_vat", aggfunc="sum", observed=True
    ),
    "melt": lambda f: f.melt(id_vars="id_invoice", value_vars=["total_vat", "total_due"])["value"],
    "drop_duplicates": lambda f: f.drop_duplicates("id_client")["id_invoice"],
    "astype": lambda f: f.total_vat.astype(float),
    "to_dict": lambda f: [float(row["total_vat"]) for row in f.to_dict("records")],
    "plot data": lambda f: [*f.total_vat.to_numpy(dtype=float)],
}


@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_stays_exact(name: str) -> None:
    frame = invoices()
    result = EXACT[name](frame)
    assert str(result.dtype).startswith("decimal128")
    expected = EXACT[name](plain(frame)).replace([np.inf, -np.inf], np.nan)
    pd.testing.assert_series_equal(plain(result), expected, check_names=False, **PRECISE)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("amounts", ["decimal", "float"])
def test_an_operation_gives_the_result_of_floats(name: str, amounts: str) -> None:
    frame = invoices(amounts=amounts)
    result, expected = plain(OTHERS[name](frame)), OTHERS[name](plain(frame))
    match expected:
        case pd.DataFrame():
            pd.testing.assert_frame_equal(result, expected, check_dtype=False, **PRECISE)
        case pd.Series():
            pd.testing.assert_series_equal(result, expected, check_dtype=False, **PRECISE)
        case _:
            assert result == pytest.approx(expected, rel=1e-9)


def test_an_amount_is_multiplied_exactly() -> None:
    amounts = invoices()["total_excl_vat"]
    for factor in (1.2, Decimal("1.2"), 3):
        exact = [each * Decimal(str(factor)) for each in amounts]
        assert [*(amounts * factor)] == [*(factor * amounts)] == exact
    assert [*amounts.cumsum()][-1] == amounts.sum() == sum(amounts)


@pytest.mark.parametrize("scale", [2, 6])
def test_an_amount_equals_the_float_with_its_digits(scale: int) -> None:
    exact = pa.array([Decimal(cents).scaleb(-2) for cents in range(3000)], pa.decimal128(18, scale))
    amounts: Any = frames.Column(
        pd.array(exact.to_pylist(), dtype=amount_array.AmountDtype(exact.type))
    )
    floats = [cents / 100 for cents in range(3000)]
    assert as_floats(exact).to_pylist() == floats
    for each in (pd.Series(floats), pd.Series(floats, dtype="Float64"), np.array(floats)):
        assert [*(amounts == each)] == [True] * 3000
    assert [*amounts[amounts == 0.41]] == [*amounts[amounts.isin([0.41, -1])]] == [Decimal("0.41")]
    assert len(amounts[amounts.between(0.07, 0.41)]) == 35


def test_a_product_that_no_decimal_holds_says_what_to_do() -> None:
    huge = invoices()["total_excl_vat"] * Decimal(10**15)
    with pytest.raises(OverflowError, match=r"round\(\) first, or use astype\(float\)"):
        _ = huge * huge * huge


def test_a_quotient_by_zero_is_missing() -> None:
    frame = invoices()
    assert (frame.total_vat / frame.total_due).isna().sum() == (frame.total_due == 0).sum() > 0
    with pytest.raises(ZeroDivisionError):
        _ = frame.total_vat / 0


@pytest.mark.parametrize("dates", ["datetime64", "arrow"])
def test_days_are_compared_with_dates(dates: str) -> None:
    days = invoices(dates=dates)["invoice_date"]
    assert (days >= DAY).sum() == 24
    assert days.between(DAY, LATER).sum() == 14
    assert days.isin([DAY, date(2026, 1, 31)]).sum() == 1
    assert "date32" in str(days.dtype) or dates == "datetime64"


def test_every_operation_returns_a_frame_that_has_them_all() -> None:
    frame = invoices()
    for derived in (frame[frame.total_vat > 0], frame.copy(), pd.concat([frame, frame])):
        assert (derived.invoice_date >= DAY).any()
        assert str((derived.total_vat * 1.2).dtype).startswith("decimal128")


def test_a_frame_is_written_and_read_back() -> None:
    frame, total = invoices(), invoices()["total_incl_vat"].sum()
    rows = json.loads(frame.to_json(orient="records", date_format="iso"))
    assert sum(Decimal(str(row["total_incl_vat"])) for row in rows) == total
    read = pd.read_csv(io.StringIO(frame.to_csv()))
    assert read["total_incl_vat"].sum() == pytest.approx(float(total))
    workbook, parquet = io.BytesIO(), io.BytesIO()
    frame.to_excel(workbook)
    assert pd.read_excel(workbook)["total_incl_vat"].sum() == pytest.approx(float(total))
    frame.to_parquet(parquet)
    assert pd.read_parquet(parquet)["total_incl_vat"].sum() == total
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(frame)), pd.DataFrame(frame))  # noqa: S301 -- our own bytes


@pytest.mark.parametrize("amounts", ["decimal", "float"])
def test_a_csv_file_has_the_decimal_sign_that_was_asked_for(amounts: str) -> None:
    """Excel in French reads 3.4 as a date."""
    frame = invoices(amounts=amounts).set_index("id_invoice")
    for written, column in ((frame, "total_vat"), (frame["total_vat"], "total_vat")):
        text = written.to_csv(sep=";", decimal=",")
        read = pd.read_csv(io.StringIO(text), sep=";", decimal=",")
        assert read[column].sum() == pytest.approx(float(frame[column].sum()))


def test_floats_are_assigned_exactly_or_refused() -> None:
    """Arrow would round them to the decimals of the column."""
    frame = invoices()
    frame.loc[:2, "total_vat"] = pd.Series([1.25, 0.1, None])
    assert frame.total_vat[:3].tolist() == [Decimal("1.25"), Decimal("0.10"), pd.NA]
    with pytest.raises(pa.ArrowInvalid, match="data loss"):
        frame.loc[:2, "total_vat"] = np.array([1.239, 0.1, 0.1])


def test_amounts_are_numeric_and_lists_json_in_a_database(warehouse: sqlalchemy.Engine) -> None:
    frame = invoices()
    frame["skills"] = pd.Series([[{"id": 3, "level": 2}], *[None] * 39], dtype=object)
    with warehouse.begin() as connection:
        frame.to_sql("frame", connection, schema="public", index=False)
        types = sqlalchemy.inspect(connection).get_columns("frame", "public")
        kinds = {each["name"]: str(each["type"]) for each in types}
        total = connection.scalar(sqlalchemy.text("select sum(total_incl_vat) from public.frame"))
        skills = sqlalchemy.text("select skills from public.frame where skills is not null")
        assert connection.scalars(skills).all() == [[{"id": 3, "level": 2}]]
        connection.execute(sqlalchemy.text("drop table public.frame"))
    assert (kinds["total_incl_vat"], kinds["skills"]) == ("NUMERIC(38, 2)", "JSON")
    assert total == frame["total_incl_vat"].sum()


def test_airflow_stores_a_frame_in_xcom() -> None:
    from airflow.sdk.serde import deserialize, serialize

    amounts = invoices()[["id_invoice", "total_vat"]]
    stored = json.loads(json.dumps(serialize(amounts)))
    found: Any = deserialize(stored)
    assert found["total_vat"].sum() == amounts["total_vat"].sum()


@pytest.mark.parametrize("option", [{"amounts": "cents"}, {"dates": "text"}])
def test_other_types_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"takes \w+ or \w+, not"):
        invoices(**option)
