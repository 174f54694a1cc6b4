/** What charts say to those who do not see them, and that hostile values never become a broken drawing. */
import { createElement, type FunctionComponent } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Meter } from "./meter.tsx";
import { SlotsBar } from "./slots-bar.tsx";
import { Sparkline } from "./sparkline.tsx";
import { TimeChart } from "./time-chart.tsx";
import { Waterfall } from "./waterfall.tsx";
import { WeekGrid } from "./week-grid.tsx";

const NOW = Date.UTC(2026, 10, 23, 2, 10);

function drawn<P extends object>(component: FunctionComponent<P>, props: P): string {
  const markup = renderToStaticMarkup(createElement(component, props));
  expect(markup).not.toMatch(/NaN|Infinity|undefined|[{}]/);
  return markup;
}

describe("Meter", () => {
  const format = (tokens: number): string => `${tokens} tokens`;

  it("says what is used over the limit", () => {
    const over = drawn(Meter, { label: "Tokens", used: 1200, reserved: 100, cap: 1000, format });
    expect(over).toContain("<title>Tokens: 1200 tokens used and 100 tokens reserved of 1000 tokens: 120%</title>");
    expect(over).toMatch(/>Over the limit<\/dt><dd>300 tokens<\/dd>/);
  });

  it.each([
    [Number.NaN, 1e308, 5],
    [1e308, 1e308, 1e308],
    [0, 0, 0],
    [-5, Number.POSITIVE_INFINITY, 10],
  ])("draws %s used, %s reserved, cap %s", (used, reserved, cap) => {
    const known = (amount: number): string => (Number.isFinite(amount) ? String(amount) : "–");
    drawn(Meter, { label: "Tokens", used, reserved, cap, format: known });
  });
});

describe("SlotsBar", () => {
  const colorOf = (group: string | null): string => group ?? "grey";

  it("says how many slots are in use, by group, and those above a capacity that was lowered", () => {
    const tenants = Array.from({ length: 20 }, (_, at) => ({ name: `t${at}`, fairshare_group: "gold", in_flight: 1 }));
    const markup = drawn(SlotsBar, {
      live: { max_in_flight: 15, batch_in_flight: 0, groups: [{ name: "gold", in_flight: 20 }], tenants },
      colorOf,
    });
    expect(markup).toContain("20 of 15 slots in use");
    expect(markup).toContain("5 slots over capacity");
    expect(markup).toContain("gold: 20 slots");
    expect(markup).toContain("gold, others: 9 slots");
  });

  it("shows slots of lines of batches apart from every group", () => {
    const tenants = [{ name: "t", fairshare_group: "gold", in_flight: 1 }];
    const live = { max_in_flight: 4, batch_in_flight: 2, groups: [{ name: "gold", in_flight: 1 }], tenants };
    const markup = drawn(SlotsBar, { live, colorOf });
    expect(markup.match(/fill:\w+/g)).toEqual(["fill:gold", "fill:grey"]);
    expect(markup.match(/background:\w+/g)).toEqual(["background:gold", "background:grey"]);
    expect(markup).toContain("3 of 4 slots in use");
    expect(markup).toContain("gold: 1 slot<");
    expect(markup).toContain("Batches, on idle slots: 2 slots");
  });
});

describe("Sparkline", () => {
  it("is named, and empty when nothing is known", () => {
    const markup = drawn(Sparkline, { values: [null, Number.NaN], label: "Requests, 24 hours" });
    expect(markup).toContain('<title>Requests, 24 hours</title><path d=""></path>');
  });
});

describe("TimeChart", () => {
  const format = (value: number): string => String(value);

  it("is a slider over its instants before it is drawn, and names its zone", () => {
    const series = [
      { id: "a", label: "acme", values: [1, 2, null] },
      { id: "b", label: "<b>", values: [1, 2, 3] },
    ];
    const markup = drawn(TimeChart, {
      title: "Slots",
      atMs: [NOW, NOW + 1000, NOW + 2000],
      series,
      kind: "area",
      format,
    });
    expect(markup).toMatch(
      /role="slider" tabindex="0" aria-label="Slots: select a time with the arrow keys" aria-valuemin="0" aria-valuemax="2"/,
    );
    expect(markup).toContain("&lt;b&gt;");
    expect(markup).toContain("UTC");
  });

  it("says when there is nothing to draw", () => {
    expect(drawn(TimeChart, { title: "Slots", atMs: [], series: [], kind: "line", format })).toContain(
      "No data in this period.",
    );
  });
});

describe("Waterfall", () => {
  it("names every part of the time with its share", () => {
    const row = { ts_ms: NOW, total_ms: 4000, queue_wait_ms: 1000, gateway_ms: 1000, ttft_ms: 1000, attempts: 1 };
    const text = drawn(Waterfall, { row, spans: [] })
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ");
    expect(text.trim()).toBe(
      "Total time: 4 s Queue 1 s 25% Gateway 1 s 25% Time to first token 1 s 25% Streaming 1 s 25%",
    );
  });

  it("draws spans that make no sense", () => {
    const row = { ts_ms: Number.NaN, total_ms: 1e308, queue_wait_ms: -1, gateway_ms: Number.NaN, ttft_ms: 0 };
    const span = {
      request_id: "",
      span_name: "a",
      parent_span: "a",
      start_ms: -1e308,
      status: "error",
      attributes: "",
    };
    const spans = [1e308, -1, Number.NaN].map((duration_ms) => ({ ...span, duration_ms }));
    expect(drawn(Waterfall, { row, spans })).toContain("outside the request");
  });
});

describe("WeekGrid", () => {
  const windows = [
    { day: 5, start_min: 1320, end_min: 1440 },
    { day: 6, start_min: 0, end_min: 365 },
  ];

  it("says in words when the tenant is open, and whether it is now by its own clock", () => {
    const markup = drawn(WeekGrid, { windows, zone: "Asia/Kolkata", nowMs: NOW });
    expect(markup).toContain("Closed now, opens 27 Nov 2026, 22:00 (in 5 days).");
    expect(markup).toContain("Fri 22:00 to Sat 06:05");
    expect(markup).toContain('aria-label="Saturday 06:00 to 06:30: partly open"');
    expect(markup).not.toMatch(/<button|tabindex/);
  });

  it("can be edited, with one cell in the order of the Tab key", () => {
    const markup = drawn(WeekGrid, { windows, zone: "UTC", nowMs: NOW, onChange: () => undefined });
    expect(markup.match(/tabindex="0"/g)).toHaveLength(1);
    expect(markup).toContain('aria-label="Remove Fri 22:00 to Sat 06:05"');
  });

  it("says that no windows mean always", () => {
    const shown = { windows: [], zone: "UTC", nowMs: NOW };
    const markup = drawn(WeekGrid, shown);
    expect(markup).toContain("Always open: no windows are set.");
    expect(markup).not.toContain("<table");
    expect(drawn(WeekGrid, { ...shown, onChange: () => undefined })).toContain("<table");
  });
});
