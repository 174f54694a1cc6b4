/** What an upstream is asked follows from what a form says. */
import { expect, it } from "vitest";
import { isSameQuestion, questionOf } from "./connection-question.ts";

it("asks for the upstream's name, else for the model's, with a key that was typed", () => {
  expect(questionOf({ api_base: " http://h/v1 ", model_name: "m", upstream_model: "  " })).toEqual({
    api_base: "http://h/v1",
    upstream_model: "m",
  });
  expect(questionOf({ api_base: "http://h/v1", model_name: "m", upstream_model: "u", api_key: "k" })).toEqual({
    api_base: "http://h/v1",
    upstream_model: "u",
    api_key: "k",
  });
});

it("asks in the API and by the header that the form says", () => {
  const said = { api_base: "http://h/v1", upstream_model: "u", api_dialect: "anthropic", auth_scheme: "x-api-key" };
  expect(questionOf(said)).toEqual(said);
  expect(isSameQuestion(said as never, { ...said, auth_scheme: "bearer" } as never)).toBe(false);
});

it("asks nothing without an address or a name, whatever stands in their place", () => {
  for (const values of [{}, { api_base: "http://h" }, { upstream_model: "u" }, { api_base: 1, model_name: {} }])
    expect(questionOf(values)).toBeNull();
});

it("knows an answer to something else", () => {
  const question = { api_base: "http://h/v1", upstream_model: "u" };
  expect(isSameQuestion(question, { ...question })).toBe(true);
  expect(isSameQuestion(question, { ...question, api_key: "k" })).toBe(false);
  expect(isSameQuestion(question, { ...question, upstream_model: "v" })).toBe(false);
  expect(isSameQuestion(question, null)).toBe(false);
});
