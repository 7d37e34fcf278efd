//! The lines that a tool sends.

/// The maximum length of a request, including the end of the line.
pub(super) const MAX_LENGTH: usize = 128;

/// The maximum number of tasks that a request can ask for.
pub(super) const MAX_TASKS: usize = 5_000;

/// A request for the first `count` tasks of a dump in an order, and for one more task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) order: Order,
    pub(super) count: usize,
    /// The id of a task that the answer includes if it exists.
    pub(super) task: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The oldest first.
    Age,
    /// Those with the most polls first.
    Polls,
    /// Those with the longest poll first.
    Longest,
}

impl Request {
    /// Reads `dump <order> <count> [<task>]`.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        if words.next()? != "dump" {
            return None;
        }
        let order = match words.next()? {
            "age" => Order::Age,
            "polls" => Order::Polls,
            "longest" => Order::Longest,
            _ => return None,
        };
        let count = words.next()?.parse::<usize>().ok()?.min(MAX_TASKS);
        let task = words.next().map(str::parse).transpose().ok()?;
        let request = Self { order, count, task };
        words.next().is_none().then_some(request)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_an_order_a_count_and_perhaps_a_task() {
        let request = |order, count, task| Some(Request { order, count, task });
        for (line, expected) in [
            ("dump age 100", request(Order::Age, 100, None)),
            (" dump  polls 0 7\r", request(Order::Polls, 0, Some(7))),
            (
                "dump longest 99999999",
                request(Order::Longest, 5_000, None),
            ),
            ("dump age 99999999999999999999999", None),
            ("dump age -1", None),
            ("dump age 1 x", None),
            ("dump age 1 2 3", None),
            ("dump age", None),
            ("dump name 1", None),
            ("dumps age 1", None),
            ("", None),
        ] {
            assert_eq!(Request::parse(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(Request::parse(b"dump age \xff"), None);
    }
}
