//! The switch of a program from Tokio to pointsman, as the guides describe it: by the manifest, by `cargo --config`,
//! and with the guard that does not compile on Tokio.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use conformance::Runtime;

/// Compiles only if the patch is in force.
const GUARDED: &str = "use tokio::pointsman as _;\n\n#[tokio::main]\nasync fn main() {\n    \
                       println!(\"{}\", std::any::type_name::<tokio::runtime::Handle>());\n}\n";

struct Program {
    folder: PathBuf,
}

impl Program {
    /// A program whose lock file has Tokio from the registry.
    fn new(name: &str, more: &str) -> Self {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("src")).unwrap();
        let manifest = format!(
            "[package]\nname = \"guarded\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n{more}"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/main.rs"), GUARDED).unwrap();
        fs::copy(home.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Self { folder }
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(&self.folder)
            .env(
                "CARGO_TARGET_DIR",
                self.folder.parent().unwrap().join("target"),
            )
            .output()
            .unwrap()
    }
}

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn assert_runs_on_pointsman(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let handle = String::from_utf8_lossy(&output.stdout);
    assert!(handle.starts_with("pointsman::"), "{handle}");
}

#[test]
fn a_guarded_program_does_not_compile_on_tokio() {
    let program = Program::new("on-tokio", "");
    let output = program.cargo(&["check", "--quiet"]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("no `pointsman` in the root"), "{errors}");
}

#[test]
fn two_lines_of_the_manifest_switch_a_guarded_program() {
    let program = Program::new("by-manifest", &Runtime::Pointsman.patch(crates()));
    let update = ["update", "--package", "tokio@1", "--precise", "1.54.1"];
    assert!(program.cargo(&update).status.success());
    assert_runs_on_pointsman(&program.cargo(&["run", "--quiet"]));
    let tree = program.cargo(&["tree", "--locked", "--invert", "pointsman"]);
    assert!(tree.status.success());
}

#[test]
fn an_option_of_cargo_switches_a_program_without_a_change_of_its_manifest() {
    let program = Program::new("by-option", "");
    let manifest = fs::read(program.folder.join("Cargo.toml")).unwrap();
    let path = crates().join("tokio");
    let patch = format!("patch.crates-io.tokio.path={path:?}");
    let update = [
        "--config",
        &patch,
        "update",
        "--package",
        "tokio@1",
        "--precise",
        "1.54.1",
    ];
    assert!(program.cargo(&update).status.success());
    assert_runs_on_pointsman(&program.cargo(&["--config", &patch, "run", "--quiet"]));
    assert_eq!(
        fs::read(program.folder.join("Cargo.toml")).unwrap(),
        manifest
    );
}
