/**
 * What a PromQL expression names, read with Prometheus' own grammar: metrics with the labels that are matched on them, and
 * labels by which results are grouped. Pure.
 */
import { parser } from "@prometheus-io/lezer-promql";

/** A match of a label; `value` is without its quotes. */
interface Matcher {
  readonly label: string;
  readonly value: string;
}

/** A selector: the name of the metric and the matches of its labels. */
interface Selected {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Named {
  readonly selected: readonly Selected[];
  /** Labels of `by`, `without`, `on` and `ignoring`. */
  readonly grouped: readonly string[];
}

/** Reads an expression. Throws for an invalid one, with the position of the error. */
export function readPromql(expression: string): Named {
  const selected: { metric: string; matchers: Matcher[] }[] = [];
  const grouped: string[] = [];
  let label = "";
  parser.parse(expression).iterate({
    enter: ({ type, from, to, node }) => {
      const text = expression.slice(from, to);
      const within = node.parent?.name;
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expression.slice(Math.max(0, from - 20), to + 20)}`);
      if (type.name === "VectorSelector") selected.push({ metric: "", matchers: [] });
      const last = selected.at(-1);
      if (type.name === "Identifier" && within === "VectorSelector" && last !== undefined) last.metric = text;
      if (type.name === "LabelName" && within === "GroupingLabels") grouped.push(text);
      if (type.name === "LabelName" && within === "UnquotedLabelMatcher") label = text;
      if (type.name === "StringLiteral" && within === "UnquotedLabelMatcher")
        last?.matchers.push({ label, value: text.slice(1, -1) });
    },
  });
  return { selected, grouped };
}
