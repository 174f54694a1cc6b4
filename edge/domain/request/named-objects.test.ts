/** Which objects of an upstream a body names; test/spec/stored-answers.test.ts has the fields one by one. */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { isObjectField, namedObjects } from "./named-objects.ts";

/** The ids that are looked up, and the ids of items that come with their content. */
function namedBy(body: string | object, { most = 100, readsDocuments = true } = {}): object | null {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const found = atOnce(namedObjects([new TextEncoder().encode(text)], most, readsDocuments));
  if (found === null) return null;
  const named = [...found];
  const idsOf = (isWanted: boolean) => named.filter(([, { isLookedUp }]) => isLookedUp === isWanted).map(([id]) => id);
  return { lookedUp: idsOf(true), withContent: idsOf(false) };
}

describe("the objects that a body names", () => {
  it("are found in any depth that a server reads, and once each", () => {
    let nested: Record<string, unknown> = { file_id: "deep" };
    for (let depth = 0; depth < 25; depth += 1) nested = { a: [nested] };
    const content = Array.from({ length: 10_000 }, (_, at) => ({ text: `${at}` }));
    expect(namedBy({ nested, content, file_ids: ["a", "b", 7, null, "a"] })).toEqual({
      lookedUp: ["deep", "a", "b"],
      withContent: [],
    });
  });

  it.each([
    ["a name twice", '{"container":"B","container":{},"file_id":"B","file_id":null}'],
    ["a list twice", '{"input":[{"id":"B"}],"input":"x"}'],
    ["a type twice", '{"input":[{"type":"item_reference","id":"B","type":"message","role":"user","content":"x"}]}'],
    ["a content twice", '{"input":[{"id":"B","content":"x","content":null}]}'],
    ["other case", '{"Input":[{"Type":"item_reference","ID":"B"}]}'],
    ["an escaped type", String.raw`{"input":[{"type":"item\u005freference","id":"B","content":"x"}]}`],
    ["an object", '{"input":{"id":"B"}}'],
    ["an item in an item", '{"input":[{"role":"user","content":[{"type":"item_reference","id":"B"}]}]}'],
    ["an item with an empty dummy", '{"input":[{"type":"reasoning","id":"B","summary":[],"content":[{}]}]}'],
    ["an item with a typed dummy", '{"input":[{"type":"reasoning","id":"B","content":[{"type":"text","text":""}]}]}'],
    ["a message without content", '{"input":[{"type":"message","id":"B"}]}'],
    ["a tool's call without content", '{"input":[{"type":"code_interpreter_call","id":"B"}]}'],
    ["camel case", '{"a":{"fileId":"B"}}'],
    ["a list of collections", '{"tools":[{"type":"file_search","collection_ids":["B"]}]}'],
    ["a library", '{"tools":[{"type":"document_library","library_ids":["B"]}]}'],
    ["one store", '{"tools":[{"type":"retrieval","retrieval":{"knowledge_id":"B","vectorStoreId":"B"}}]}'],
    ["a context", '{"context_id":"B","extra_body":{"prompt_id":"B","cachedContents":"B"}}'],
    ["a parameter of a tool", '{"tools":[{"type":"file_search","parameters":{"vector_store_ids":["B"]}}]}'],
  ])("are found behind %s", (_, body) => {
    expect(namedBy(body)).toEqual({ lookedUp: ["B"], withContent: [] });
  });

  it("are the files that the upstream reads with its own rights, and no others", () => {
    const image = (url: string) => ({ type: "image_url", image_url: { url } });
    const parts = [
      "gs://b/a",
      " S3://b/a",
      "file:///etc/passwd",
      "https://a.test/gs://b",
      "data:a",
      "",
      " ".repeat(200),
    ].map(image);
    const text = JSON.stringify({
      messages: [{ role: "user", content: [...parts, { type: "text", text: "gs://said" }] }],
      input: [{ type: "input_image", image_url: "GS://b/c" }],
      metadata: { url: "s3://own" },
    }).replace('"S3:', String.raw`"\u0073\u0033:`);
    expect(namedBy(text)).toEqual({
      lookedUp: ["gs://b/a", " S3://b/a", "file:///etc/passwd", " ".repeat(200), "GS://b/c"],
      withContent: [],
    });
  });

  it.each([
    "fi\nle:///x",
    "fi\tle:///x",
    "f\rile:///x",
    "\u0001file:///x",
    "\bfile:///x",
    "\ffile:///x",
    " \u001f\n file:///x",
    "\u00a0gs://b",
    `f${"\n".repeat(200)}ile:///x`,
  ])("are places of files as parsers of URLs read them: %j", (url) => {
    expect(namedBy({ messages: [{ content: [{ image_url: { url } }] }] })).toEqual({
      lookedUp: [url],
      withContent: [],
    });
    const escaped = JSON.stringify({ url }).replace("ile", String.raw`\u0069le`);
    expect(namedBy(escaped)).toEqual({ lookedUp: [url], withContent: [] });
  });

  it.each([
    { image: "file:///x" },
    { video: ["file:///x"] },
    { input_audio: { data: "file:///x" } },
    { file: { file_data: "file:///x" } },
    { imageUrl: "file:///x" },
    { ref_audio: "file:///x" },
    { image_data: ["file:///x"] },
    { audio_data: "file:///x" },
    { videoData: "file:///x" },
    { parameters: { image: "file:///x" } },
    { parameters: { sampling_params: { image_data: ["file:///x"] } } },
    { mask_image: "file:///x" },
    { image_urls: ["file:///x"] },
    { input_reference: "file:///x" },
    { messages: [{ role: "user", content: "hi", videos: ["file:///x"] }] },
    { messages: [{ content: [{ type: "image", path: "file:///x" }] }] },
    { messages: [{ content: [{ type: "image", source: "file:///x" }] }] },
    { references: [{ audio_path: "file:///x", text: "hi" }] },
    { data: { data: "file:///x", data_format: "url" } },
    { voice: "file:///x" },
    { some: { setting: ["file:///x"] } },
  ])("are places of files wherever servers read such: %j", (body) => {
    expect(namedBy(body)).toEqual({ lookedUp: ["file:///x"], withContent: [] });
  });

  it.each([
    "/etc/passwd",
    "/data/other/x.png",
    "//host/x.png",
    "~/x.png",
    "~root/x",
    "../x.png",
    "./x.png",
    "\\\\host\\x.png",
    "a/../../x.png",
    "/9j/../x.png",
    "/9j/4AAQ.png",
    " /x",
    `/${"a/".repeat(3_000)}b.png`.replace("a/a", "a/./a"),
    `python/${"./".repeat(70)}../../../../data/s.png`,
    `python/${"/".repeat(130)}../../../../data/s.png`,
    `python${"/".repeat(5_000)}../../data/s.png`,
    `p/${"./".repeat(5_000)}../../data/s.png`,
    `${"/".repeat(130)}data/s.png#${"A".repeat(4_200)}`,
    `${"/".repeat(130)}data/s.png?${"A".repeat(4_200)}`,
    `${"/".repeat(5_000)}data/secret`,
    `/9j/${"/".repeat(130)}../data/s.png`,
    `/9j/${"/".repeat(4_200)}../data/s.png`,
    `${"/proc/self/root/".repeat(40)}data/spng`,
    `${"/proc/self/root/".repeat(300)}data/spng`,
    `//dev/${"fd/".repeat(300)}0`,
    `/${"a/".repeat(300)}${"/".repeat(3_600)}${"../".repeat(301)}data/s.png`,
    `a/${"b/".repeat(300)}${"/".repeat(3_600)}${"../".repeat(311)}data/s.png`,
    `/9j/${"/".repeat(40_000)}../etc${"/".repeat(40_000)}passwd`,
  ])("are paths in fields of media, which servers also open: %.99s", (path) => {
    const bodies = [
      { image_data: path },
      { images: [path] },
      { messages: [{ content: [{ image_url: { url: path } }] }] },
      { messages: [{ content: [{ type: "image", path }] }] },
      { parameters: { ref_audio: path } },
      { mask_url: path, url: path },
    ];
    const lookedUp = [path.slice(0, 4_096)];
    for (const body of bodies) expect(namedBy(body)).toEqual({ lookedUp, withContent: [] });
  });

  it.each([
    ["a JPEG image", "/9j/4AAQSkZJRgABAQ"],
    ["a long JPEG image", `/9j/${"Ab+/".repeat(2_000)}=`],
    ["short sound", "//uQxAAA"],
    ["sound", `//uQxAAA${"Ab+/".repeat(2_000)}`],
    ["a URL", "https://a.test/../x.png"],
    ["a file of no place", "x..png"],
    ["sound of some frames", `//uQxAAA${"A".repeat(600)}`],
    ["an image in base64", `iVBOR${"Ab+/".repeat(5_000)}==`],
    ["an image in lines of base64", `iVBOR${`${"A".repeat(76)}\r\n`.repeat(300)}`],
    ["a white image in base64", `Qk02${"/".repeat(9_000)}`],
    ["sound of silence", "/".repeat(200) + "proc".repeat(2_000)],
    ["a long URL", `https://a.test/${"a/../".repeat(2_000)}`],
    ["a data: URL", `data:image/png;base64,${"A".repeat(9_000)}`],
  ])("are no paths where %s stands", (_, image) => {
    expect(namedBy({ image, images: [image], image_url: { url: image }, audio: image })).toEqual({
      lookedUp: [],
      withContent: [],
    });
  });

  it("are no paths in escaped base64, and are paths however they are escaped", () => {
    const base64 = `/9j/${"Ab+/".repeat(2_000)}=`;
    const escaped = JSON.stringify({ image: base64 }).replaceAll("+", "\\u002B").replaceAll("=", "\\u003d");
    expect(namedBy(escaped)).toEqual({ lookedUp: [], withContent: [] });
    const path = `/9j/${"/".repeat(16_380)}../etc/passwd`;
    const hidden = JSON.stringify({ image: path }).replaceAll(".", "\\u002E");
    expect(namedBy(hidden)).toEqual({ lookedUp: [path.slice(0, 4_096)], withContent: [] });
  });

  it("are no paths in fields without media, or with bytes only", () => {
    const path = "/docs/a.html";
    const body = {
      input_audio: { data: "//uQxAAA", format: "mp3" },
      image_embeds: "/wAA",
      documents: [{ url: path, path }],
      citations: [{ url: path }],
      prompt: path,
      text: "~",
      messages: [{ role: "user", content: [{ type: "text", text: "../x" }], operation: { path: "/src/a.ts" } }],
    };
    expect(namedBy(body)).toEqual({ lookedUp: [], withContent: [] });
  });

  it("are none in texts that speak of such", () => {
    const said = "file:///etc/passwd is a file, s3://b/a is another";
    const texts = [said, `gs://b ${said}`, ` \n${said}`];
    const schema = { type: "object", properties: { at: { default: said, enum: texts, description: said } } };
    const body = {
      prompt: texts,
      negative_prompt: said,
      suffix: said,
      instructions: said,
      system: [{ type: "text", text: said }],
      input: [said, { role: "user", content: [{ type: "input_text", text: said }] }],
      inputs: said,
      query: said,
      documents: [said, { text: said, source: said, data: said, at: [said] }],
      text_1: texts,
      data_1: texts,
      items: texts,
      contents: [{ parts: [said] }],
      messages: [
        { role: "system", content: said, name: said },
        { role: "user", content: [{ type: "text", text: said }, said] },
        { role: "assistant", content: null, reasoning_content: said, thinking: said, refusal: said },
        { role: "assistant", tool_calls: [{ id: said, function: { name: "f", arguments: `{"path":"${said}"}` } }] },
        { role: "assistant", tool_calls: [{ function: { name: "f", arguments: { path: said, image: "/x.png" } } }] },
        { role: "assistant", tool_calls: [{ name: "f", parameters: { url: said, path: said } }] },
        { role: "assistant", content: [{ type: "tool_use", input: { path: said, url: said } }] },
        { role: "tool", content: said },
        { role: "user", content: [{ type: "tool_result", content: [{ type: "text", text: said }] }] },
      ],
      output: [{ stdout: said, stderr: said }],
      input_extra: [{ filename: said, text: said }],
      tools: [
        { type: "function", function: { name: "f", description: said, parameters: schema } },
        { name: "g", input_schema: schema, input_examples: [{ path: said }] },
      ],
      functions: [{ name: "f", parameters: schema }],
      response_format: { json_schema: { name: "s", schema } },
      guided_json: schema,
      structured_outputs: { json: schema, choice: texts },
      chat_template_kwargs: { any: said },
      prediction: { type: "content", content: said },
      stop: texts,
      user: said,
      metadata: { at: said },
    };
    expect(namedBy(body)).toEqual({ lookedUp: [], withContent: [] });
  });

  it.each([
    { image: "https://a.test/file:x" },
    { image: "data:image/png;base64,aGk=" },
    { image_url: { url: `data:image/png;base64,${"a".repeat(1_000)}` } },
    { input_audio: { data: "gsaa".repeat(100), format: "wav" } },
    { input_audio: { data: "Zmls" } },
    { image: "file.png" },
    { documents: [{ data: "file: notes" }] },
    { file: { filename: "file:a", file_data: "data:application/pdf;base64,aGk=" } },
  ])("are no files of the client's own: %j", (body) => {
    expect(namedBy(body)).toEqual({ lookedUp: [], withContent: [] });
  });

  const ofDocument = (data: string) => ({
    messages: [
      { role: "user", content: [{ type: "document", source: { type: "text", media_type: "text/plain", data } }] },
    ],
  });
  const searched = {
    type: "search_result",
    source: "s3://kb/a.md",
    title: "t",
    content: [{ type: "text", text: "x" }],
  };
  it.each<[string, object]>([
    ["a document of text", ofDocument("File: report.txt\nBody")],
    ["a document of YAML", ofDocument("s3:\n  bucket: x\n")],
    ["a document that begins with a URL", ofDocument("file:///a is where it is")],
    ["a result of a search", { messages: [{ role: "user", content: [searched] }] }],
    ["a tool's result of a search", { messages: [{ content: [{ type: "tool_result", content: [searched] }] }] }],
    [
      "examples of a tool",
      { tools: [{ name: "f", input_examples: [{ image_path: "/data/x.png" }, { url: "file:///x" }] }] },
    ],
    [
      "attributes of a file",
      { input: [{ type: "file_search_call", results: [{ attributes: { url: "s3://b/a.pdf" } }] }] },
    ],
    ["variables of a prompt", { prompt: { variables: { image_path: "/x.png" } } }],
    ["a schema", { guided_json: { properties: { image: { default: "/x.png" }, image_path: "/x" } } }],
    ["arguments of a call", { contents: [{ parts: [{ functionCall: { args: { url: "file:///x", image: "/x" } } }] }] }],
    ["what a tool said", { content: [{ type: "tool_result", structuredContent: { url: "file:///x", image: "/x" } }] }],
    ["arguments of a template", { chat_template_kwargs: { image: "/x.png" } }],
    ["an action of a model", { input: [{ type: "web_search_call", action: { type: "open_page", url: "file:///x" } }] }],
    ["the page of a computer", { input: [{ type: "computer_call_output", current_url: "file:///home/u/x.html" }] }],
  ])("are none where no server opens them: %s", (_, body) => {
    expect(namedBy(body)).toEqual({ lookedUp: [], withContent: [] });
  });

  it.each<[string, object | string]>([
    ["an image with the type of a text", { content: [{ type: "image", source: { type: "text", data: "file:///x" } }] }],
    ["a document of a file", { content: [{ type: "document", source: { type: "base64", data: "file:///x" } }] }],
    ["an image with the source of a search", { content: [{ type: "image", source: "file:///x" }] }],
    ["a medium among variables", { prompt: { variables: { a: { type: "input_image", image_url: "file:///x" } } } }],
    ["a type twice", '{"content":[{"type":"search_result","source":"file:///x","Type":"image"}]}'],
    [
      "a type of a source twice",
      '{"content":[{"type":"document","source":{"type":"base64","type":"text","data":"file:///x"}}]}',
    ],
  ])("are found in what is only like that: %s", (_, body) => {
    expect(namedBy(body)).toEqual({ lookedUp: ["file:///x"], withContent: [] });
  });

  it("are no files that an earlier answer cites, which comes back with it", () => {
    const annotations = [
      { type: "container_file_citation", container_id: "B", file_id: "B" },
      { type: "file_citation", file_id: "B", filename: "a.txt" },
    ];
    const content = [{ type: "output_text", text: "x", annotations }];
    const cited = [
      { type: "message", role: "assistant", id: "M", content },
      { type: "file_search_call", id: "S", queries: ["q"], results: [{ file_id: "B", vector_store_id: "B" }] },
    ];
    expect(namedBy({ input: cited })).toEqual({ lookedUp: [], withContent: ["M", "S"] });
    const used = [{ role: "user", content: [{ type: "input_file", file_id: "B" }] }, { annotations: [{ id: "B" }] }];
    expect(namedBy({ input: used })).toEqual({ lookedUp: ["B"], withContent: [] });
    expect(namedBy({ annotations: [{ file_id: "B" }] })).toEqual({ lookedUp: ["B"], withContent: [] });
  });

  it("are media in documents where these are ranked, and links where a model reads them", () => {
    const body = { documents: [{ data: { url: "s3://b/x.pdf", text: "t" } }, { url: "s3://b/y" }] };
    const found = [true, false].map((readsDocuments) => namedBy(body, { readsDocuments }));
    expect(found).toEqual([
      { lookedUp: ["s3://b/x.pdf", "s3://b/y"], withContent: [] },
      { lookedUp: [], withContent: [] },
    ]);
  });

  it("are the skills of an account, not those that everyone has", () => {
    const skills = [
      { type: "custom", skill_id: "skill_01" },
      { type: "anthropic", skill_id: "pptx" },
    ];
    expect(namedBy({ container: { skills } })).toEqual({ lookedUp: ["skill_01"], withContent: [] });
  });

  it("are apart from items that come with their content", () => {
    const input = [
      { type: "message", role: "user", id: "a", content: [{ type: "input_text", text: "x" }] },
      { type: "reasoning", id: "b", encrypted_content: "gAAAA" },
      { type: "function_call", id: "c", arguments: "{}" },
      { type: "tool_call", input: { id: "own" } },
    ];
    expect(namedBy({ input })).toEqual({ lookedUp: [], withContent: ["a", "b", "c"] });
  });

  it.each([
    { request_id: "a", metadata: { request_id: "own" } },
    { requestId: "a", messages: [{ rid: "own" }] },
    { rid: ["a"] },
    { extra_body: { request_id: "a" } },
    { extra_body: { requestId: "a" } },
    { parameters: { request_id: "a" } },
    { vllm_xargs: { request_id: "a" }, tools: [{ parameters: { rid: "own" } }] },
    { sampling_params: [{ rid: "a" }] },
    { parameters: { sampling_params: { rid: "a" } } },
  ])("include the id that the client chooses for the answer, and what a server may make of it: %j", (body) => {
    expect(namedBy(body)).toEqual({ lookedUp: [], withContent: ["a", "resp_a"] });
  });

  it("are all seen, or too many: behind empty texts, too, and behind one that is named again", () => {
    const found = [
      namedBy({ file_ids: ["a", "b", "c", "d"] }, { most: 2 }),
      namedBy({ file_ids: ["", "", "", "a"] }, { most: 2 }),
      namedBy({ file_ids: ["a", "a", "a", "b"] }, { most: 2 }),
    ];
    expect(found).toEqual([null, { lookedUp: ["a"], withContent: [] }, null]);
  });
});

it("a field of a form names an object by the last of its brackets", () => {
  const names = ["file_id", "File_Id", "images[][file_id]", "file_ids[]", "image[fileId]", "metadata[file_id]", "file"];
  expect(names.filter((name) => !isObjectField(name))).toEqual(["metadata[file_id]", "file"]);
});
