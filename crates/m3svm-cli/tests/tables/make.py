"""Makes the small messy tables of the tests, the same ones every time: `python make.py` in this folder.

All show the same invented flowers, 36 of 3 kinds, in the ways in which tables go wrong.
"""

import datetime
import decimal
import gzip
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

random.seed(7)
rows = []
for i in range(36):
    kind = ["bell", "crown", "star"][i % 3]
    size = round(10 + 4 * (i % 3) + random.uniform(-1.5, 1.5), 1)
    weight = round(30 - 5 * (i % 3) + random.uniform(-3, 3), 2)
    colour = random.choice(["red", "white", "white"] if i % 3 else ["blue", "red"])
    meadow = random.choice(["north", "south"])
    day = f"2021-0{4 + i % 3}-{1 + (7 * i) % 28:02d}"
    rows.append((size, weight, colour, meadow, day, kind))


def write(name, lines, encoding="utf-8", newline="\n", end="\n"):
    with open(name, "w", encoding=encoding, newline="") as out:
        out.write(newline.join(lines) + end)


def table(head, cells, sep=","):
    return [sep.join(head)] + [sep.join(str(c) for c in cells(i, *row)) for i, row in enumerate(rows)]


H = ["size", "weight", "colour", "kind"]
gap = lambda i, value, word="", every=5, at=2: word if i % every == at else value

write("text.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, c, k)))
write("gaps.csv", table(H, lambda i, s, w, c, m, d, k: (gap(i, s), gap(i, w, at=3), gap(i, c, at=4), k)))
words = ["NA", "N/A", "NaN", "null", "?", "na"]
write("words.csv", table(H, lambda i, s, w, c, m, d, k: (gap(i, s, words[i % 6]), w, gap(i, c, words[(i + 1) % 6], at=1), k)))
write("minus.csv", table(H, lambda i, s, w, c, m, d, k: (gap(i, s, "-999"), w, gap(i, c, "unknown"), k)))
write("index.csv", table([""] + H, lambda i, s, w, c, m, d, k: (i, s, w, c, k)))
write("id.csv", table(["flower"] + H, lambda i, s, w, c, m, d, k: (f"F{977 * i % 1000:03d}", s, w, c, k)))
write("constant.csv", table(["year", "site"] + H, lambda i, s, w, c, m, d, k: (2021, "meadow", s, w, c, k)))
write("dates.csv", table(["day"] + H, lambda i, s, w, c, m, d, k: (gap(i, d, "NA"), s, w, c, k)))
write("booleans.csv", table(["wet"] + H, lambda i, s, w, c, m, d, k: (["True", "FALSE", "true"][i % 3 if i % 4 else 1], s, w, c, k)))
write("euro.csv", table(H, lambda i, s, w, c, m, d, k: (str(s).replace(".", ","), str(w).replace(".", ","), c, k), ";"))
write("euro_thousands.csv", table(H, lambda i, s, w, c, m, d, k: (f"1.{int(10 * s):03d},5", str(w).replace(".", ","), c, k), ";"))
write("thousands.csv", table(H, lambda i, s, w, c, m, d, k: (f'"1,{int(10 * s):03d}.5"', w, c, k)))
write("doubtful_comma.csv", table(["size", "kind"], lambda i, s, w, c, m, d, k: (f"1,{int(10 * s):03d}", k), ";"))
write("spaces.txt", [f"  {s:7.2f}   {w:6.2f} {i % 3}" for i, (s, w, *_) in enumerate(rows)])
write("tabs.tsv", table(H, lambda i, s, w, c, m, d, k: (s, w, c, k), "\t"))
write("pipes.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, c, k), "|"))
write("trailing.csv", [line + "," for line in table(H, lambda i, s, w, c, m, d, k: (s, w, c, k))])
write("trailing_rows.csv", [line + ("," if i else "") for i, line in enumerate(table(H, lambda i, s, w, c, m, d, k: (s, w, c, k)))])
write("comments.csv", ["# flowers of 2021", "# by hand"] + table(H, lambda i, s, w, c, m, d, k: (s, w, c, k)))
write("utf16.csv", ["\ufeff" + line if i == 0 else line for i, line in enumerate(table(H, lambda i, s, w, c, m, d, k: (s, w, c, k)))], "utf-16-le", "\r\n")
write("bom.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, c, k)), "utf-8-sig")
write("latin1.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, {"blue": "blå", "red": "röd", "white": "vit"}[c], k)), "latin-1")
write("codes.csv", table(["size", "weight", "label"], lambda i, s, w, c, m, d, k: (s, w, ["01", "1", "007", "1e1"][i % 4])))
write("quoted_codes.csv", table(["size", "weight", "label"], lambda i, s, w, c, m, d, k: (s, w, f'"{["01", "1", "007"][i % 3]}"')))
write("one_class_one_number.csv", table(["size", "weight", "label"], lambda i, s, w, c, m, d, k: (s, w, ["1", "1.0", "2"][i % 3])))
write("coordinates.csv", table(["x", "y", "z", "kind"], lambda i, s, w, c, m, d, k: (int(10 * s), int(w), i % 7, k)))
write("years.csv", table(["2019", "2020", "2021"], lambda i, s, w, c, m, d, k: (s, w, i % 3)))
write("doubtful_years.csv", table(["2019", "2020", "2021"], lambda i, s, w, c, m, d, k: (int(s), int(w), i % 3)))
write("two_labels.csv", table(["size", "weight", "class", "label"], lambda i, s, w, c, m, d, k: (s, w, i % 3, k)))
write("no_label.csv", table(["size", "weight"], lambda i, s, w, c, m, d, k: (s, w)))
write("bad_cells.csv", table(H, lambda i, s, w, c, m, d, k: (gap(i, s, "tall", 12), gap(i, w, "about 20", 9), c, k)))
write("missing_labels.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, c, gap(i, k, "NA", 9))))
write("letters.data", [",".join([k[0], c[0], m[0]]) for s, w, c, m, d, k in rows])
write("flowers.arff", ["@RELATION flowers", "@ATTRIBUTE size NUMERIC", "@ATTRIBUTE kind {bell,crown,star}", "@DATA"] + [f"{s},{k}" for s, w, c, m, d, k in rows])
write("flowers.jsonl", ['{"size": %s, "weight": %s, "colour": %s, "kind": "%s"}' % ("null" if i % 5 == 2 else s, w, f'"{c}"' if i % 7 else "null", k) for i, (s, w, c, m, d, k) in enumerate(rows)])
with open("flowers.xlsx", "wb") as out:
    # The start of a workbook is enough to be known by.
    out.write(b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00" + bytes(16) + b"[Content_Types].xml")

frame = pd.DataFrame(rows, columns=["size", "weight", "colour", "meadow", "day", "kind"])
frame["size"] = frame["size"].where(np.arange(36) % 5 != 2)
frame["colour"] = pd.Categorical(frame["colour"])
frame["day"] = pd.to_datetime(frame["day"])
frame["wet"] = pd.array([None if i % 9 == 0 else bool(i % 2) for i in range(36)], dtype="boolean")
frame["count"] = pd.array([None if i % 8 == 0 else i % 5 for i in range(36)], dtype="Int16")
frame.index = pd.Index([(11 * i) % 36 + 100 for i in range(36)], name="number")
frame = frame[["size", "weight", "colour", "meadow", "day", "wet", "count", "kind"]]
frame.to_parquet("frame.parquet", compression="brotli", index=True)
frame.reset_index().to_feather("frame.feather")

# What nobody plans for.
plain = table(H, lambda i, s, w, c, m, d, k: (s, w, c, k))
write("duplicate_names.csv", table(["size", "size", "colour", "kind"], lambda i, s, w, c, m, d, k: (s, w, c, k)))
write("sep_line.csv", ["sep=;"] + [line.replace(",", ";") for line in plain])
write("old_mac.csv", plain, newline="\r", end="\r")
write("quoted_numbers.csv", table(H, lambda i, s, w, c, m, d, k: (f'"{s}"', f'" {w}"', f'"{c}"', f'"{k}"')))
write("multiline.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, f'"{c}\nlike ""snow"""' if c == "white" else c, k)))
write("blank_lines.csv", [line for i, line in enumerate(plain) for line in ([line, ""] if i % 7 == 3 else [line])] + ["", "  ", ""])
write("units.csv", [plain[0], "cm,g,,"] + plain[1:])
write("totals.csv", plain + ["514.2,900.1,,"])
write("spaced_names.csv", [' size ,"weight", colour ,kind '] + [line.replace(",", " , ") for line in plain[1:]])
write("dotted_dates.csv", table(["day"] + H, lambda i, s, w, c, m, d, k: (".".join(reversed(d.split("-"))), s, w, c, k)))
write("slashed_dates.csv", table(["day"] + H, lambda i, s, w, c, m, d, k: ("{1}/{2}/{0}".format(*d.split("-")), s, w, c, k)))
write("doubtful_dates.csv", table(["day"] + H, lambda i, s, w, c, m, d, k: (f"0{1 + i % 9}/0{1 + i // 9}/2021", s, w, c, k)))
write("times.csv", table(["seen"] + H, lambda i, s, w, c, m, d, k: (f"{d} {(5 * i) % 24:02d}:{i:02d}", s, w, c, k)))
write("percent.csv", table(["cover"] + H, lambda i, s, w, c, m, d, k: (f"{(37 * i) % 100}%", s, w, c, k)))
write("money.csv", table(["price"] + H, lambda i, s, w, c, m, d, k: (f'"${1000 + 37 * i:,}.50"', s, w, c, k)))
write("yes_no.csv", table(["wet"] + H, lambda i, s, w, c, m, d, k: (["yes", "no", "No", ""][i % 4], s, w, c, k)))
write("euro_sign.csv", table(["price"] + H, lambda i, s, w, c, m, d, k: (gap(i, f"{'-' if i % 4 else ''}€{i + s:.2f}"), s, w, c, k)))
write("euro_behind.csv", table(["price"] + H, lambda i, s, w, c, m, d, k: (f"{1000 * (i % 3) + s:,.1f} €".replace(",", " ").replace(".", ","), str(s).replace(".", ","), str(w).replace(".", ","), c, k), ";"))
write("spaced_thousands.csv", table(["people"] + H, lambda i, s, w, c, m, d, k: (f"{1000 * i + 7 * s:,.1f}".replace(",", "\u202f").replace(".", ","), str(s).replace(".", ","), str(w).replace(".", ","), c, k), ";"))
write("kilograms.csv", table(["load"] + H, lambda i, s, w, c, m, d, k: (f"{i % 5 + s:.1f} kg", s, w, c, k)))
write("mixed_money.csv", table(["price"] + H, lambda i, s, w, c, m, d, k: (f"{'€$'[i % 2]}{i + s:.2f}", s, w, c, k)))
write("mixed_percent.csv", table(["cover"] + H, lambda i, s, w, c, m, d, k: (f"{i % 7}%" if i % 3 else f"0.0{i % 7}", s, w, c, k)))
write("month_names.csv", table(["day"] + H, lambda i, s, w, c, m, d, k: (f"{int(d[8:])}-{['Apr', 'May', 'Jun'][int(d[6]) - 4]}-{d[:4]}", s, w, c, k)))
write("american_dates.csv", table(["day"] + H, lambda i, s, w, c, m, d, k: (f'"{["April", "May", "June"][int(d[6]) - 4]} {int(d[8:])}, {d[:4]}"', s, w, c, k)))
write("apartments.csv", table(["flat"] + H, lambda i, s, w, c, m, d, k: (f"{'AB'[i % 2]}{i % 4}", s, w, c, k)))
write("title_above.csv", ["Flowers of 2021"] + plain)
write("other_header.csv", [plain[0]] + [line.replace(",", ";") for line in plain[1:]])
write("infinite.csv", table(H, lambda i, s, w, c, m, d, k: (gap(i, s, "inf", 12), w, c, k)))
write("excel_errors.csv", table(H, lambda i, s, w, c, m, d, k: (gap(i, s, "#N/A", 9), gap(i, w, "#DIV/0!", 12), c, k)))
write("swiss.csv", table(H, lambda i, s, w, c, m, d, k: (f"1'{int(10 * s):03d}.5", w, c, k), ";"))
write("uuid.csv", table(["id"] + H, lambda i, s, w, c, m, d, k: (f"{i * 0x9E3779B97F4A7C15 % 2**64:016x}", s, w, c, k)))
write("padded_labels.csv", table(H, lambda i, s, w, c, m, d, k: (s, w, c, k + " " * (i % 2))))
write("truth_labels.csv", table(["size", "weight", "class"], lambda i, s, w, c, m, d, k: (s, w, k == "star")))
write("label_first.csv", table(["Class"] + H[:3], lambda i, s, w, c, m, d, k: (k, s, w, c)))
write("mostly_gone.csv", table(["note"] + H, lambda i, s, w, c, m, d, k: ("seen by bees" if i % 12 == 5 else "", s, w, c, k)))
write("late_text.csv", table(["site"] + H, lambda i, s, w, c, m, d, k: (i % 3 if i < 30 else f"{i % 3}b", s, w, c, k)))
write("many_classes.csv", table(["size", "weight", "label"], lambda i, s, w, c, m, d, k: (s, w, i // 3)))
write("names_only.csv", [plain[0]])
write("empty.csv", [], end="")
write("one_column.csv", ["kind"] + [row[5] for row in rows])
write("ragged.csv", [line + (",extra" if i in (5, 9, 10) else "") for i, line in enumerate(plain)])
write("open_quote.csv", ['"' + line if i == 7 else line for i, line in enumerate(plain)])
write("table.html.csv", ["<html><body><table>"] + [f"<tr><td>{line.replace(',', '</td><td>')}</td></tr>" for line in plain] + ["</table>"])
write("array.json", ["["] + [f'  {{"size": {s}, "kind": "{k}"}}{"," if i < 35 else ""}' for i, (s, w, c, m, d, k) in enumerate(rows)] + ["]"])
write("nested.jsonl", [f'{{"size": {s}, "tags": ["{c}"], "place": {{"meadow": "{m}"}}, "kind": "{k}"}}' for s, w, c, m, d, k in rows])
write("dated.jsonl", [f'{{"seen": "{d}", "size": {s}, "kind": "{k}"}}' for s, w, c, m, d, k in rows])
with open("packed.csv.gz", "wb") as out:
    out.write(gzip.compress("\n".join(plain).encode(), mtime=0))
with open("zeros.csv", "wb") as out:
    out.write(plain[0].encode() + b"\n" + bytes(200))

first = datetime.datetime(2021, 4, 1, tzinfo=datetime.timezone.utc)
typed = pa.table(
    {
        "price": pa.array([decimal.Decimal(f"{10 * s:.2f}") if i % 5 else None for i, (s, *_) in enumerate(rows)], pa.decimal128(12, 2)),
        "huge": pa.array([2**63 + i % 7 for i in range(36)], pa.uint64()),
        "small": pa.array([i % 5 - 2 for i in range(36)], pa.int8()),
        "half": pa.array([float(s) for s, *_ in rows], pa.float16()),
        "seen": pa.array([first + datetime.timedelta(hours=31 * i) for i in range(36)], pa.timestamp("us", "Europe/Oslo")),
        "day": pa.array([datetime.date(2021, 4, 1 + i % 29) for i in range(36)], pa.date32()),
        "hour": pa.array([datetime.time(i % 24, 30) for i in range(36)], pa.time32("s")),
        "took": pa.array([datetime.timedelta(minutes=i % 11) for i in range(36)], pa.duration("s")),
        "colour": pa.array([row[2] for row in rows]).dictionary_encode(),
        "meadow": pa.array([row[3] for row in rows], pa.large_string()),
        "wet": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(36)]),
        "nothing": pa.nulls(36),
        "kind": pa.array([row[5] for row in rows]),
    }
)
pq.write_table(typed, "typed.parquet", compression="zstd")
pq.write_table(typed.append_column("tags", pa.array([[row[2]] for row in rows])).append_column("box", pa.array([{"a": 1}] * 36)), "nested.parquet")
pq.write_table(pa.table({"size": [row[0] for row in rows], "label": pa.array([float(i % 3) for i in range(36)])}), "float_labels.parquet")
pq.write_table(pa.table({"size": [row[0] for row in rows], "label": pa.array([["01", "1", "007", "1e1"][i % 4] for i in range(36)])}), "codes.parquet")
