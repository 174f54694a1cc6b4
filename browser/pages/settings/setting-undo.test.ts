/** Taking a change of a setting back restores all that saving it changed, or is not offered. */
import { expect, it } from "vitest";
import { undoEmail, undoRouting } from "./setting-undo.ts";

const ON = { classifier_enabled: true, classifier_model: "m", classifier_timeout_ms: 250 };
const OFF = { classifier_enabled: false, classifier_model: null, classifier_timeout_ms: 250 };

it("turns the classifier on again with its model", () => {
  expect(undoRouting({ classifier_model: null }, ON)).toEqual({ classifier_model: "m", classifier_enabled: true });
  expect(undoRouting({ classifier_model: "m" }, OFF)).toEqual({ classifier_model: null, classifier_enabled: false });
  expect(undoRouting({ classifier_timeout_ms: 9 }, ON)).toEqual({ classifier_timeout_ms: 250 });
});

it("offers no way back to a classifier that was on without a model", () => {
  expect(undoRouting({ classifier_model: "m" }, { ...ON, classifier_model: null })).toBeNull();
});

it("offers no way back to no email, and one from a change of it", () => {
  expect(undoEmail({ smtp_host: "a", smtp_port: 25 }, { smtp_port: 587, starttls: true, recipients: [] })).toBeNull();
  expect(undoEmail({ smtp_host: "b" }, { smtp_host: "a", smtp_port: 25 })).toEqual({ smtp_host: "a" });
});
