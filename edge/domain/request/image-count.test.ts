/** How many images a JSON body asks for; the fields of forms are in form-reader.test.ts. */
import { expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { imageCount } from "./image-count.ts";

it.each<[string, number]>([
  ["{}", 1],
  ['{"n":3}', 3],
  ['{"n":"4"}', 4],
  ['{"n":0}', 1],
  ['{"n":-2}', 1],
  ['{"n":"many"}', 1],
  ['{"n":null}', 1],
  ['{"n":1e300}', 2 ** 53 - 1],
  ['{"n":[1,7,2]}', 7],
  ['{"num_images":["10"]}', 10],
  ['{"n":1,"num_outputs_per_prompt":8}', 8],
  ['{"Num_Images":10}', 10],
  ['{"numImages":10}', 10],
  ['{"num_images":10,"num_images":1}', 10],
  [String.raw`{"\u006eum_images":10}`, 10],
  ['{"n":2,"parameters":{"n":9},"options":{"n":"3"}}', 9],
  ['{"sampling_params":{"n":6,"n":5},"sampling_params":{}}', 6],
  ['{"options":[{"n":7}]}', 7],
  [`{"${" ".repeat(300)}num_images":10}`, 10],
  ['{"extra_body":{"num_images":10}}', 10],
  ['{"extra_args":{"num_outputs_per_prompt":10}}', 10],
  ['{"metadata":{"n":10},"prompt":"n","size":[1024,1024]}', 1],
])("%s asks for %i", (body, count) => {
  expect(atOnce(imageCount([new TextEncoder().encode(body)]))).toBe(count);
});
