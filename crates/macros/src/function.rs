//! The function that an attribute generates.
//!
//! The body is not parsed, only passed on: this saves time, and the compiler reports its errors.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Meta, Result, ReturnType, Signature, Type, Visibility};

use crate::arguments::{Arguments, Kind};

struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse()?;
        let body = input.parse::<Group>()?;
        if body.delimiter() != Delimiter::Brace {
            return Err(Error::new(body.span(), "expected the body of the function"));
        }
        // Async blocks take no attributes: they are put on the function, where they have the same meaning.
        let separate = |content: ParseStream<'_>| {
            let inner = content.call(Attribute::parse_inner)?;
            Ok((inner, content.parse::<TokenStream>()?))
        };
        let (inner, statements) = separate.parse2(body.stream())?;
        attributes.extend(inner.into_iter().map(|mut attribute| {
            attribute.style = syn::AttrStyle::Outer;
            attribute
        }));
        let mut group = Group::new(Delimiter::Brace, statements);
        group.set_span(body.span());
        Ok(Self {
            attributes,
            visibility,
            signature,
            body: group,
        })
    }
}

/// Generates the function, followed by an error if there is one: the function can then still be called.
pub(crate) fn expand(
    kind: Kind,
    library: &TokenStream,
    arguments: TokenStream,
    item: TokenStream,
) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#item #error);
        }
    };
    let checked = check(kind, &function)
        .and_then(|()| syn::parse2::<Arguments>(arguments))
        .and_then(|arguments| {
            let runtime = arguments.runtime(kind, library)?;
            let exploration = arguments.exploration(kind, library)?;
            if let (Some(_), Some(input)) = (&exploration, function.signature.inputs.first()) {
                let message = "a test with `seeds` cannot have parameters";
                return Err(Error::new_spanned(input, message));
            }
            Ok((runtime, exploration))
        });
    match checked {
        Ok((_, Some((explore, seeds)))) => write_exploration(function, &explore, seeds),
        Ok((runtime, None)) => write(kind, function, &runtime),
        Err(error) => {
            let Function {
                attributes,
                visibility,
                signature,
                ..
            } = function;
            let error = error.into_compile_error();
            let mut signature = signature;
            signature.asyncness = None;
            quote! {
                #(#attributes)* #[allow(unused)] #visibility #signature { ::core::unreachable!() }
                #error
            }
        }
    }
}

fn check(kind: Kind, function: &Function) -> Result<()> {
    let signature = &function.signature;
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(
            signature.fn_token,
            format!("`fn {}` has to be `async fn`", signature.ident),
        ));
    }
    match kind {
        Kind::Main if signature.ident == "main" && !signature.inputs.is_empty() => Err(
            Error::new_spanned(&signature.inputs, "`main` cannot have parameters"),
        ),
        Kind::Test => match function.attributes.iter().find(|it| is_test(it)) {
            Some(test) => Err(Error::new_spanned(
                test,
                "this makes it a test twice: leave one of the attributes out",
            )),
            None => Ok(()),
        },
        Kind::Main => Ok(()),
    }
}

/// Whether it is the built-in `#[test]`, by any of its paths.
fn is_test(attribute: &Attribute) -> bool {
    let Meta::Path(path) = &attribute.meta else {
        return false;
    };
    let names: Vec<String> = path
        .segments
        .iter()
        .map(|it| it.ident.to_string())
        .collect();
    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => path.leading_colon.is_none(),
        ["core" | "std", "prelude", _, "test"] => true,
        _ => false,
    }
}

/// Whether a `dyn Future` with this output type can be named.
fn can_be_named(output: &Type) -> bool {
    fn has_opaque(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == "impl",
            TokenTree::Group(group) => has_opaque(group.stream()),
            _ => false,
        })
    }
    !matches!(output, Type::Never(_)) && !has_opaque(output.to_token_stream())
}

/// The span of the last statement, where the compiler reports a mismatched return type.
fn last_statement(body: &Group) -> Span {
    let mut begins = None;
    let mut ended = true;
    for token in body.stream() {
        if ended {
            begins = Some(token.span());
        }
        ended = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ';');
    }
    begins.unwrap_or_else(|| body.span())
}

fn write(kind: Kind, function: Function, runtime: &TokenStream) -> TokenStream {
    let Function {
        attributes,
        visibility,
        mut signature,
        body,
    } = function;
    signature.asyncness = None;
    let span = Span::mixed_site().located_at(last_statement(&body));
    let name = Ident::new("body", span);
    let test = match kind {
        Kind::Main => None,
        Kind::Test => Some(quote!(#[::core::prelude::v1::test])),
    };
    let output = match &signature.output {
        ReturnType::Default => Some(quote!(())),
        ReturnType::Type(_, output) if can_be_named(output) => Some(output.to_token_stream()),
        ReturnType::Type(..) => None,
    };
    // The body stays in this function's frame, and `block_on` gets a reference of a type that all functions with the
    // same output share: it is compiled once for them.
    let future = match output {
        Some(output) => quote_spanned! {span=>
            let mut #name = ::core::pin::pin!(async #body);
            let #name: ::core::pin::Pin<&mut dyn ::core::future::Future<Output = #output>> =
                #name.as_mut();
        },
        None => quote_spanned!(span=> let #name = async #body;),
    };
    quote! {
        #(#attributes)*
        #test
        #visibility #signature {
            #future
            // `return`, so that a function that never returns works too.
            #[allow(clippy::expect_used, clippy::needless_return, clippy::diverging_sub_expression)]
            {
                return #runtime
                    .expect("the runtime could not be built")
                    .block_on(#name);
            }
        }
    }
}

/// Generates a test that runs its body with many seeds.
fn write_exploration(function: Function, explore: &TokenStream, seeds: u64) -> TokenStream {
    let Function {
        attributes,
        visibility,
        mut signature,
        body,
    } = function;
    signature.asyncness = None;
    let output = match std::mem::replace(&mut signature.output, ReturnType::Default) {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => output.into_token_stream(),
    };
    let span = Span::mixed_site().located_at(last_statement(&body));
    let test = quote_spanned! {span=>
        || -> ::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output = #output>>> {
            ::std::boxed::Box::pin(async #body)
        }
    };
    quote! {
        #(#attributes)*
        #[::core::prelude::v1::test]
        #visibility #signature {
            #explore(0..#seeds, #test);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generated code.
    fn text(kind: Kind, arguments: &str, item: &str) -> String {
        let [arguments, item] = [arguments, item].map(|it| it.parse().unwrap());
        expand(kind, &quote!(::library), arguments, item).to_string()
    }

    /// The generated code, without spaces.
    fn expanded(kind: Kind, arguments: &str, item: &str) -> String {
        text(kind, arguments, item).replace(' ', "")
    }

    /// The message of the only error.
    fn error(kind: Kind, arguments: &str, item: &str) -> String {
        let expanded = text(kind, arguments, item);
        assert_eq!(expanded.matches("compile_error").count(), 1, "{expanded}");
        // The error is generated last.
        let (_, text) = expanded.split_once("compile_error ! {").unwrap();
        let literal: syn::LitStr =
            syn::parse_str(text.trim().trim_end_matches('}').trim()).unwrap();
        literal.value()
    }

    #[test]
    fn an_error_names_the_argument_what_was_given_and_what_was_expected() {
        let names = "`flavor`, `worker_threads`, `start_paused`, `seeds`, `name`, `unhandled_panic` or `crate`";
        for (arguments, expected) in [
            (
                "flavor = \"fast\"",
                "`flavor` cannot be `\"fast\"`: expected \"multi_thread\", \"current_thread\" or \"local\"",
            ),
            (
                "flavor = 1",
                "`flavor` cannot be `1`: expected \"multi_thread\", \"current_thread\" or \"local\"",
            ),
            (
                "worker_threads = 0",
                "`worker_threads` cannot be `0`: expected a whole number from 1 on",
            ),
            (
                "worker_threads = \"4\"",
                "`worker_threads` cannot be `\"4\"`: expected a whole number from 1 on",
            ),
            (
                "worker_threads = 99999999999999999999999",
                "`worker_threads` cannot be `99999999999999999999999`: expected a whole number from 1 on",
            ),
            (
                "worker_threads = -1",
                "`worker_threads` cannot be `- 1`: expected a whole number from 1 on",
            ),
            (
                "worker_threads = COUNT",
                "`worker_threads` expects a literal value",
            ),
            (
                "start_paused = 1",
                "`start_paused` cannot be `1`: expected true or false",
            ),
            ("name = true", "`name` cannot be `true`: expected a string"),
            (
                "crate = \"a b\"",
                "`crate` cannot be `\"a b\"`: expected a path in a string, such as \"renamed\"",
            ),
            (
                "flavor = \"local\", flavor = \"local\"",
                "`flavor` is given more than once",
            ),
            (
                "unhandled_panic = \"abort\"",
                "`unhandled_panic` cannot be `\"abort\"`: expected \"ignore\" or \"shutdown_runtime\"",
            ),
            (
                "flavor = \"multi_thread\", unhandled_panic = \"ignore\"",
                "`unhandled_panic` needs `flavor = \"current_thread\"` or `flavor = \"local\"`",
            ),
            (
                "start_paused = true",
                "`start_paused` needs `flavor = \"current_thread\"` or `flavor = \"local\"`",
            ),
            (
                "flavor = \"current_thread\", worker_threads = 1",
                "`worker_threads` needs `flavor = \"multi_thread\"`",
            ),
            (
                "seeds = 0",
                "`seeds` cannot be `0`: expected a whole number from 1 on",
            ),
            ("seeds = 9", "`seeds` is an argument of `test` only"),
        ] {
            assert_eq!(error(Kind::Main, arguments, "async fn f() {}"), expected);
        }
        for (arguments, expected) in [
            (
                "seeds = 9, flavor = \"multi_thread\"",
                "`seeds` needs a runtime of one thread",
            ),
            (
                "seeds = 9, start_paused = false",
                "`seeds` needs a paused clock",
            ),
            (
                "seeds = 9, name = \"workers\"",
                "`name` cannot be given with `seeds`",
            ),
            (
                "seeds = 9, worker_threads = 2",
                "`worker_threads` needs `flavor = \"multi_thread\"`",
            ),
        ] {
            assert_eq!(error(Kind::Test, arguments, "async fn f() {}"), expected);
        }
        assert_eq!(
            error(Kind::Test, "seeds = 9", "async fn f(number: u32) {}"),
            "a test with `seeds` cannot have parameters"
        );
        assert_eq!(
            error(Kind::Main, "threads = 4", "async fn f() {}"),
            format!("there is no argument `threads`: expected {names}")
        );
        assert_eq!(
            error(Kind::Main, "multi_thread", "async fn f() {}"),
            format!(
                "`multi_thread` stands alone: expected `name = value`, where the name is {names}"
            )
        );
    }

    #[test]
    fn an_error_tells_what_is_wrong_with_the_function() {
        assert_eq!(
            error(Kind::Main, "", "fn f() {}"),
            "`fn f` has to be `async fn`"
        );
        assert_eq!(
            error(Kind::Main, "", "async fn main(count: u32) {}"),
            "`main` cannot have parameters"
        );
        let twice = "this makes it a test twice: leave one of the attributes out";
        for test in [
            "#[test]",
            "#[core::prelude::v1::test]",
            "#[::std::prelude::rust_2024::test]",
        ] {
            assert_eq!(
                error(Kind::Test, "", &format!("{test} async fn f() {{}}")),
                twice
            );
        }
        expanded(Kind::Test, "", "#[other::test] async fn f() {}");
    }

    #[test]
    fn a_function_with_an_error_can_still_be_called() {
        let out = expanded(
            Kind::Main,
            "flavor = 1",
            "pub async fn f(number: u32) -> u32 { number }",
        );
        assert!(
            out.contains("pubfnf(number:u32)->u32{::core::unreachable!()}"),
            "{out}"
        );
    }

    #[test]
    fn what_is_no_function_is_left_as_it_is() {
        let out = expanded(Kind::Main, "", "struct Nothing;");
        assert!(out.starts_with("structNothing;"), "{out}");
        assert!(out.contains("compile_error"), "{out}");
    }

    #[test]
    fn the_runtime_is_the_one_that_the_arguments_ask_for() {
        for (kind, arguments, expected) in [
            (
                Kind::Main,
                "",
                "return::library::runtime::Builder::new_multi_thread().enable_all()",
            ),
            (
                Kind::Test,
                "",
                "return::library::runtime::Builder::new_current_thread().enable_all()",
            ),
            (
                Kind::Test,
                "crate = \"tokio\"",
                "returntokio::runtime::Builder::",
            ),
            (
                Kind::Main,
                "worker_threads = 2,",
                "new_multi_thread().worker_threads(2)",
            ),
        ] {
            let out = expanded(kind, arguments, "async fn f() {}");
            assert!(out.contains(expected), "{out}");
        }
    }
}
