/** How many images a JSON body asks for; the fields of forms are in form-reader.test.ts. */
import { expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { watchedCalls } from "../../../test/harness/edge/watched-calls.ts";
import { imageCount } from "./image-count.ts";

const countOf = (body: string) => atOnce(imageCount([new TextEncoder().encode(body)]));

it.each<[string, number]>([
  ["{}", 1],
  ['{"n":3}', 3],
  ['{"n":1e1}', 10],
  ['{"num_images":2.0}', 2],
  ['{"num_images":"4"}', 4],
  ['{"n":null}', 1],
  ['{"n":1,"num_outputs_per_prompt":8}', 8],
  ['{"Num_Images":10}', 10],
  ['{"numImages":10}', 10],
  ['{"num_images":10,"num_images":1}', 10],
  [String.raw`{"\u006eum_images":10}`, 10],
  [String.raw`{"num_images\u0000[x]":10}`, 10],
  ['{"num_images[]":10}', 10],
  ['{"num_images[0]":10}', 10],
  ['{"sampling_params[n]":10}', 10],
  ['{"n":2,"parameters":{"n":9},"options":{"n":"3"}}', 9],
  ['{"sampling_params":{"n":6,"n":5},"sampling_params":{}}', 6],
  ['{"options":[{"n":7}]}', 7],
  [`{"${" ".repeat(300)}num_images":10}`, 10],
  ['{"extra_body":{"num_images":10}}', 10],
  ['{"extra_args":{"num_outputs_per_prompt":10}}', 10],
  ['{"metadata":{"n":[10]},"prompt":"n","size":[1024,1024],"x.n":"many"}', 1],
])("%s asks for %i", (body, count) => {
  expect(countOf(body)).toBe(count);
});

it.each([
  ['{"num_images":"1_0"}', "num_images"],
  ['{"num_images":"+10"}', "num_images"],
  ['{"num_images":"１０"}', "num_images"],
  ['{"num_images":"10.0"}', "num_images"],
  ['{"num_images":" 10"}', "num_images"],
  ['{"num_images":""}', "num_images"],
  [`{"num_images":"1${"0".repeat(100)}"}`, "num_images"],
  ['{"num_images":0}', "num_images"],
  ['{"num_images":-2}', "num_images"],
  ['{"num_images":1.5}', "num_images"],
  ['{"num_images":1e15}', "num_images"],
  ['{"num_images":1e400}', "num_images"],
  ['{"num_images":"1e30"}', "num_images"],
  ['{"num_images":1001}', "num_images"],
  ['{"num_images":true}', "num_images"],
  ['{"num_images":{"value":10}}', "num_images"],
  ['{"num_images":[1]}', "num_images"],
  ['{"num_images":[]}', "num_images"],
  ['{"n":1,"parameters":[{"Num-Images":"ten"}]}', "parameters.Num-Images"],
  [`{"${" ".repeat(41)}extra_body":{"num_images":10}}`, " ".repeat(40)],
])("%s is refused: servers could read another number", (body, param) => {
  expect(countOf(body)).toEqual({ param, message: `${param} must be an integer between 1 and 1000` });
});

it.each([
  ["many numbers in lists", `${"[".repeat(55)}${"1,".repeat(20_000)}1${"]".repeat(55)}`],
  ["many texts in a list", `[${'"",'.repeat(20_000)}""]`],
  ["one number many times", `1${',"num_images":1'.repeat(20_000)}`],
])("%s are refused, and their places are not kept", (_, value) => {
  let copies = 0;
  let count: unknown;
  watchedCalls(
    [[Array.prototype, "slice"]],
    () => (copies += 1),
    () => (count = countOf(`{"num_images":${value}}`)),
  );
  expect(count).toMatchObject({ param: "num_images" });
  expect(copies).toBeLessThan(100);
});
