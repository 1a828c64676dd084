"""Tables of text stay in line in every script, and fold where there is no room."""

from service.cli.table import aligned, columns, folded


def test_ideographs_take_two_columns_and_marks_none():
    assert [columns(text) for text in ("abc", "日本", "e\u0301", "한👩", "")] == [3, 4, 1, 4, 0]


def test_columns_stay_in_line_behind_wide_names():
    lines = aligned([["text", "one"], ["日本語", "1.00"], ["e\u0301", "23"]])
    assert lines == ["text     one", "日本語  1.00", "e\u0301         23"]


def test_a_table_without_room_becomes_several_with_the_first_column():
    table = [["text", "one", "two", "three"], ["english", "1", "2", "3"]]
    assert folded(table, None) == folded(table, 80) == aligned(table)
    assert folded(table, 17) == ["text     one  two", "english    1    2", "", "text     three", "english      3"]
    assert len(folded(table, 1)) == 3 * 2 + 2
