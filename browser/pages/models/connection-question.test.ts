/** What an upstream is asked follows from what a form says. */
import { expect, it } from "vitest";
import { questionsOf } from "./connection-question.ts";

it("asks for the upstream's name, else for the model's, with a key that was typed", () => {
  expect(questionsOf({ api_base: " http://h/v1 ", model_name: "m", upstream_model: "  " })).toEqual([
    {
      api_base: "http://h/v1",
      upstream_model: "m",
    },
  ]);
  expect(questionsOf({ api_base: "http://h/v1", model_name: "m", upstream_model: "u", api_key: "k" })).toEqual([
    {
      api_base: "http://h/v1",
      upstream_model: "u",
      api_key: "k",
    },
  ]);
});

it("asks in the API and by the header that the form says", () => {
  const said = { api_base: "http://h/v1", upstream_model: "u", api_dialect: "anthropic", auth_scheme: "x-api-key" };
  expect(questionsOf(said)).toEqual([said]);
});

it("asks nothing without an address or a name, whatever stands in their place", () => {
  for (const values of [{}, { api_base: "http://h" }, { upstream_model: "u" }, { api_base: 1, model_name: {} }])
    expect(questionsOf(values)).toEqual([]);
});

it("asks every address that a form names", () => {
  const values = { api_base: "http://a/v1", upstream_model: "u", endpoints: ["http://b/v1", " ", "http://c/v1"] };
  expect(questionsOf(values).map(({ api_base }) => api_base)).toEqual(["http://a/v1", "http://b/v1", "http://c/v1"]);
  expect(questionsOf({ ...values, endpoints: null })).toHaveLength(1);
});
