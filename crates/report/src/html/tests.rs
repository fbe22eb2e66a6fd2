//! Tests of the parts of pages.

use super::{HtmlCell, HtmlTable, escaped, heat};

#[test]
fn text_from_files_is_never_markup() {
    assert_eq!(
        escaped("f<int>(\"&\")\u{1b}"),
        "f&lt;int&gt;(&quot;&amp;&quot;)\u{fffd}"
    );
    let mut table = HtmlTable::new("<b>", &[("<i>", false)]);
    table.row(&[HtmlCell::Text("<script>")]);
    let table = table.finish();
    for markup in ["<b>", "<i>", "<script>"] {
        assert!(!table.contains(markup), "{table}");
    }
}

#[test]
fn shares_that_are_not_0_have_a_colour() {
    assert_eq!(heat(0, 7), "");
    assert_eq!(heat(0, 0), "");
    assert_eq!(heat(1, u128::MAX / 2), " class=h1");
    assert_eq!(heat(7, 7), " class=h9");
    assert_eq!(heat(u128::MAX, u128::MAX), " class=h9");
}

#[test]
fn changes_have_a_sign_and_a_colour_by_it() {
    let heads = [("", false), ("", true), ("", true), ("", true), ("", true)];
    let mut table = HtmlTable::new("changes", &heads);
    table.row(&[
        HtmlCell::Text("name"),
        HtmlCell::of_change(Some(5), Some(10)),
        HtmlCell::of_change(Some(-10), Some(10)),
        HtmlCell::of_change(Some(3), None),
        HtmlCell::of_change(Some(0), Some(1)),
    ]);
    let row = "<td class=h5>+5<td class=c9>-10<td class=h9>+3<td class=n>0\n";
    assert!(table.finish().contains(row));
}

#[test]
fn bars_are_as_long_as_the_share() {
    let heads = [("", false), ("", true), ("", true), ("", true)];
    let mut table = HtmlTable::new("bars", &heads);
    table.row(&[
        HtmlCell::Text("name"),
        HtmlCell::Bar(Some(1), 4),
        HtmlCell::Bar(Some(-7), 4),
        HtmlCell::Bar(None, 4),
    ]);
    let row = "<td class=b style=--w:25.0%>1<td class=b style=--w:0.0%>-7<td class=n>\n";
    assert!(table.finish().contains(row));
}
