/** Which objects of an upstream a body names; test/spec/stored-answers.test.ts has the fields one by one. */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { isObjectField, namedObjects } from "./named-objects.ts";

/** The ids that are looked up, and those of items that come with their content. */
function namedBy(body: string | object, most = 100): object {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const named = [...atOnce(namedObjects([new TextEncoder().encode(text)], most))];
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
  ])("are paths in fields of media, which servers also open: %j", (path) => {
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
    ["sound", `//uQxAAA${"Ab+/".repeat(2_000)}`],
    ["a URL", "https://a.test/../x.png"],
    ["a file of no place", "x..png"],
  ])("are no paths where %s stands", (_, image) => {
    expect(namedBy({ image, images: [image], image_url: { url: image }, audio: image })).toEqual({
      lookedUp: [],
      withContent: [],
    });
  });

  it("are no paths where the field is none of a medium, or has bytes only", () => {
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

  it("are counted up to one more than are allowed", () => {
    expect(namedBy({ file_ids: ["a", "b", "c", "d"] }, 2)).toEqual({ lookedUp: ["a", "b", "c"], withContent: [] });
  });
});

it("a field of a form names an object by the last of its brackets", () => {
  const names = ["file_id", "File_Id", "images[][file_id]", "file_ids[]", "image[fileId]", "metadata[file_id]", "file"];
  expect(names.filter((name) => !isObjectField(name))).toEqual(["metadata[file_id]", "file"]);
});
