import { expect, test } from "vitest";
import { costOfMillion, perRequest } from "./cost.ts";
import { lessOf, type Operations } from "./operations.ts";

const before: Operations = {
  requests: 10,
  objectCalls: { "Cell.openSession": 10 },
  sessionCalls: { "Session.exchange": 10 },
  rowsWritten: 5,
  rowsRead: 100,
  subrequests: 12,
  objects: 2,
};
const after: Operations = {
  requests: 110,
  objectCalls: { "Cell.openSession": 110, "Ledger.append": 20, "Ledger.alarm": 0 },
  sessionCalls: { "Session.exchange": 110 },
  rowsWritten: 15,
  rowsRead: 400,
  subrequests: 122,
  objects: 3,
};

test("the operations between two counts are their difference", () => {
  expect(lessOf(after, before)).toEqual({
    requests: 100,
    objectCalls: { "Cell.openSession": 100, "Ledger.append": 20 },
    sessionCalls: { "Session.exchange": 100 },
    rowsWritten: 10,
    rowsRead: 300,
    subrequests: 110,
    objects: 3,
  });
});

test("a million requests cost what their operations cost, each operation at its price", () => {
  const each = perRequest(lessOf(after, before), 0.5);
  expect(each).toEqual({ objectRequests: 1.2, rowsWritten: 0.1, rowsRead: 3, cpuMs: 0.5 });
  const cost = costOfMillion(each, 3, 100);
  expect(cost.requestsUsd).toBeCloseTo(0.3);
  expect(cost.cpuUsd).toBeCloseTo(0.01); // 0.5 million ms
  expect(cost.objectRequestsUsd).toBeCloseTo(0.18);
  expect(cost.rowsWrittenUsd).toBeCloseTo(0.1);
  expect(cost.rowsReadUsd).toBeCloseTo(0.003);
  // 10,000 s x 3 x 0.128 GB = 3,840 GB-s
  expect(cost.objectDurationUsd).toBeCloseTo(0.048);
  expect(cost.totalUsd).toBeCloseTo(0.641);
});
