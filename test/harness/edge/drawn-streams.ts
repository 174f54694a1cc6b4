/**
 * Event streams of answers, drawn as an upstream may order them: texts where honest servers have none, indexes that are no place,
 * and texts that are shown whole before further pieces.
 */
import fc from "fast-check";

export type Event = Readonly<Record<string, unknown>>;

const PIECES = ["zanzi", "zanzi", "barx", "barx", "zanzibarx", "x", " ", "123-45-", "6789"];

/** What is drawn of an event stream: numbers below a bound, and one of several values. */
class Draw {
  readonly roll: (bound: number) => number;

  constructor(chances: readonly number[]) {
    let at = 0;
    this.roll = (bound) => {
      at += 1;
      return (chances[at % chances.length] ?? 0) % bound;
    };
  }

  of<T>(values: readonly [T, ...T[]]): T {
    return values[this.roll(values.length)] ?? values[0];
  }

  piece(): string {
    return PIECES[this.roll(PIECES.length)] ?? "";
  }

  /** A piece as an upstream may write it: JavaScript joins lists to texts. */
  given(): unknown {
    const piece = this.piece();
    return this.roll(40) === 0 ? this.of<unknown>([[piece], [[piece]]]) : piece;
  }

  /** Text where honest servers have none. */
  early(): string {
    return this.roll(3) === 0 ? this.piece() : "";
  }
}

const streamOf = (write: (draw: Draw) => readonly Event[]) =>
  fc.array(fc.nat(5039), { minLength: 40, maxLength: 80 }).map((chances) => write(new Draw(chances)));

/** Indexes as an upstream may write them. */
const anyIndex = (draw: Draw, count: number): unknown =>
  draw.roll(8) === 0 ? draw.of([count, 5, -1, "0", "1", [0], true, 0.5, null]) : draw.roll(Math.max(1, count));

const citation = (draw: Draw) => ({ type: "char_location", cited_text: draw.piece(), document_title: "t" });

/** Events of Anthropic's messages; blocks start at their place, or elsewhere. */
export const messageEvents = streamOf((draw) => {
  const block = (): Event =>
    draw.of<() => Event>([
      () => ({ type: "text", text: draw.early(), citations: null }),
      () => ({ type: "text", text: draw.early() }),
      () => ({ type: "thinking", thinking: draw.early(), signature: "" }),
      () => ({ type: "tool_use", id: "t", name: "f", input: draw.roll(4) === 0 ? { q: draw.piece() } : {} }),
      () => ({ type: "compaction", content: draw.early() }),
    ])();
  const content = draw.roll(6) === 0 ? [block(), block()].slice(draw.roll(2)) : [];
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "m", type: "message", role: "assistant", model: "x", content, stop_reason: null, usage };
  let count = content.length;
  const start = (): Event => {
    const index = draw.roll(6) === 0 ? anyIndex(draw, count + 1) : count;
    count += 1;
    return { type: "content_block_start", index, content_block: block() };
  };
  const delta = (): Event => ({
    type: "content_block_delta",
    index: anyIndex(draw, count),
    delta: draw.of<() => Event>([
      () => ({ type: "text_delta", text: draw.piece() }),
      () => ({ type: "text_delta", text: draw.piece() }),
      () => ({ type: "thinking_delta", thinking: draw.given() }),
      () => ({ type: draw.of(["foo_delta", "signature_delta"]), text: draw.piece() }),
      () => ({ type: "input_json_delta", partial_json: draw.of(['{"q":"', draw.piece(), '"}']) }),
      () => ({ type: "citations_delta", citation: citation(draw) }),
      () => ({ type: "compaction_delta", content: draw.piece() }),
    ])(),
  });
  const events = Array.from({ length: 3 + draw.roll(8) }, () =>
    count === 0 || draw.roll(4) === 0
      ? start()
      : draw.of([delta, delta, delta, () => ({ type: "content_block_stop", index: draw.roll(count) })])(),
  );
  return [
    { type: "message_start", message },
    ...events,
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    ...(draw.roll(3) === 0 ? [delta()] : []),
    { type: "message_stop" },
  ];
});

interface Item {
  readonly wire: number;
  readonly value: Record<string, unknown> & { readonly type: string; readonly id: string };
  parts: number;
}

const outputText = (text: string) => ({ type: "output_text", text, annotations: [] });

/** Events of the Responses API, as its SDK accepts them: items of every kind that deltas continue. */
class ResponseEvents {
  readonly draw: Draw;
  readonly items: Item[] = [];
  readonly events: Event[] = [];

  constructor(draw: Draw) {
    this.draw = draw;
    this.#shown("created", draw.roll(6) === 0 ? [this.#item(0).value] : []);
    for (let left = 8 + draw.roll(10); left > 0; left -= 1) this.#next();
    if (draw.roll(3) === 0)
      this.#shown(
        "completed",
        this.items.map(({ value }) => value),
      );
    if (draw.roll(3) === 0) this.#next();
  }

  #push(type: string, event: Event): void {
    this.events.push({ type: `response.${type}`, sequence_number: this.events.length, ...event });
  }

  #shown(name: string, output: readonly Event[]): void {
    this.#push(name, { response: { id: "r", object: "response", status: name, output } });
  }

  #next(): void {
    const { draw, items } = this;
    const item = items[draw.roll(Math.max(1, items.length))];
    if (item === undefined || draw.roll(5) === 0) {
      const { value, wire } = this.#item(draw.roll(6) === 0 ? items.length + 3 : items.length);
      this.#push("output_item.added", { output_index: wire, item: value });
      return;
    }
    const roll = draw.roll(8);
    if (roll === 0)
      this.#push("output_item.done", {
        output_index: item.wire,
        item: this.#value(item.value.type, item.value.id, item),
      });
    else if (roll === 1)
      this.#shown(
        "in_progress",
        draw.roll(2) === 0 ? [] : items.map(({ value: { type, id } }) => this.#value(type, id)),
      );
    else if (roll === 2) this.#whole(item);
    else this.#delta(item);
  }

  #item(wire: number): Item {
    const type = this.draw.of([
      "message",
      "message",
      "message",
      "reasoning",
      "function_call",
      "custom_tool_call",
      "mcp_call",
      "code_interpreter_call",
      "shell_call",
      "shell_call_output",
    ]);
    const item: Item = { wire, value: this.#value(type, `i${this.items.length}`), parts: 0 };
    item.parts = Object.values(item.value).reduce<number>(
      (sum, list) => sum + (Array.isArray(list) ? list.length : 0),
      0,
    );
    this.items.push(item);
    return item;
  }

  /** An item with text in it, or without, which has the parts of another one. */
  #value(
    type: string,
    id: string,
    { parts }: { readonly parts: number } = { parts: this.draw.roll(2) },
  ): Item["value"] {
    const { draw } = this;
    const list = <T>(part: () => T): readonly T[] => Array.from({ length: parts }, part);
    const call = { call_id: `c${id}`, name: "f" };
    const values: Readonly<Record<string, Event>> = {
      message: { role: "assistant", content: list(() => outputText(draw.early())) },
      reasoning: { summary: list(() => ({ type: "summary_text", text: draw.early() })) },
      function_call: { ...call, arguments: draw.early() },
      custom_tool_call: { ...call, input: draw.early() },
      mcp_call: { name: "f", server_label: "s", arguments: draw.early() },
      code_interpreter_call: { code: draw.early(), container_id: "c", outputs: null },
      shell_call: { call_id: `c${id}`, action: { commands: list(() => draw.early()) } },
      shell_call_output: {
        call_id: `c${id}`,
        output: list(() => ({ stdout: draw.early(), stderr: "", outcome: { type: "exit", exit_code: 0 } })),
      },
    };
    return { type, id, status: "in_progress", ...values[type] };
  }

  /** The next part of an item starts. */
  #part(item: Item): void {
    const { draw } = this;
    const { type, id } = item.value;
    const ids = { item_id: id, output_index: item.wire };
    if (type === "message")
      this.#push("content_part.added", { ...ids, content_index: item.parts, part: outputText(draw.early()) });
    else if (type === "reasoning")
      this.#push("reasoning_summary_part.added", {
        ...ids,
        summary_index: item.parts,
        part: { type: "summary_text", text: draw.early() },
      });
    else if (type === "shell_call")
      this.#push("shell_call_command.added", { ...ids, command_index: item.parts, command: draw.early() });
    item.parts += 1;
  }

  #delta(item: Item): void {
    const { draw } = this;
    const { type, id } = item.value;
    const isList = ["message", "reasoning", "shell_call", "shell_call_output"].includes(type);
    if (isList && (item.parts === 0 || draw.roll(5) === 0)) {
      this.#part(item);
      return;
    }
    const at = draw.roll(Math.max(1, item.parts));
    // numbers that clients do not read for this type are drawn
    const more =
      draw.roll(4) === 0 ? { content_index: draw.roll(3), index: draw.roll(3), summary_index: draw.roll(3) } : {};
    const ids = { ...more, item_id: id, output_index: item.wire };
    const delta = draw.given();
    if (type === "message") this.#push("output_text.delta", { ...ids, content_index: at, delta, logprobs: [] });
    else if (type === "reasoning") this.#push("reasoning_summary_text.delta", { ...ids, summary_index: at, delta });
    else if (type === "shell_call") this.#push("shell_call_command.delta", { ...ids, command_index: at, delta });
    else if (type === "shell_call_output")
      this.#push("shell_call_output_content.delta", { ...ids, command_index: at, delta: { stdout: delta } });
    else this.#push(`${NAMES[type] ?? ""}.delta`, { ...ids, delta });
  }

  /** A text as a whole, which takes the place of its pieces. */
  #whole(item: Item): void {
    const { type, id } = item.value;
    const ids = { item_id: id, output_index: item.wire };
    const text = this.draw.piece();
    if (type === "message" && item.parts > 0)
      this.draw.of([
        () => this.#push("output_text.done", { ...ids, content_index: 0, text, logprobs: [] }),
        () => this.#push("content_part.done", { ...ids, content_index: 0, part: outputText(text) }),
      ])();
    else if (type === "reasoning" && item.parts > 0)
      this.#push("reasoning_summary_text.done", { ...ids, summary_index: 0, text });
    else if (type === "shell_call" && item.parts > 0)
      this.#push("shell_call_command.done", { ...ids, command_index: 0, command: text });
    else if (NAMES[type] !== undefined) {
      const name = type === "custom_tool_call" ? "input" : type === "code_interpreter_call" ? "code" : "arguments";
      this.#push(`${NAMES[type]}.done`, { ...ids, [name]: text });
    }
  }
}

const NAMES: Readonly<Record<string, string>> = {
  function_call: "function_call_arguments",
  custom_tool_call: "custom_tool_call_input",
  mcp_call: "mcp_call_arguments",
  code_interpreter_call: "code_interpreter_call_code",
};

export const responseEvents = streamOf((draw) => new ResponseEvents(draw).events);

export const chatChunks = streamOf((draw) => {
  const delta = (): Event =>
    draw.of<() => Event>([
      () => ({ content: draw.piece() }),
      () => ({ content: draw.piece() }),
      () => ({ content: draw.of<unknown>([123, 6789, [draw.piece()], draw.piece()]) }),
      () => ({ refusal: draw.piece() }),
      () => ({ audio: { id: "a", transcript: draw.piece() } }),
      () => ({ function_call: { name: "f", arguments: draw.piece() } }),
      () => ({ annotations: [{ type: "url_citation", url_citation: { title: draw.piece() } }] }),
      () => ({
        tool_calls: [
          { index: draw.roll(2), id: "c", type: "function", function: { name: "f", arguments: draw.piece() } },
        ],
      }),
      () => ({ tool_calls: [{ index: draw.roll(2), custom: { name: "f", input: draw.given() } }] }),
    ])();
  return Array.from({ length: 3 + draw.roll(8) }, () => ({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [
      {
        index: anyIndex(draw, 2),
        delta: { role: "assistant", ...delta() },
        ...(draw.roll(12) === 0 ? { message: delta() } : {}),
        finish_reason: null,
      },
    ],
  }));
});
