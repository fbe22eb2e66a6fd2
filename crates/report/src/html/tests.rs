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
