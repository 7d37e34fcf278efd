//! The guards that a program can have against a build without the patch. `make tokio-switch` compiles them without it.

use tokio::pointsman as _;

#[test]
fn types_are_those_of_pointsman() {
    let name = std::any::type_name::<tokio::runtime::Handle>();
    assert!(name.starts_with("pointsman::"), "{name}");
}
