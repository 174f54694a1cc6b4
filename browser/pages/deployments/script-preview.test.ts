import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { ScriptPreview } from "./script-preview.tsx";

it.each([
  ["#!/bin/bash\nserve\n", "GATEWAY_SERVING_PORT"],
  ["#!/usr/bin/env python3\nserve()\n", "GATEWAY_PORT_BASE"],
])("of a script %j without a port warns that it does not use %s", (script_body, name) => {
  const values = { script_body, serving_port: 9000 };
  const markup = renderToStaticMarkup(createElement(ScriptPreview, { values, warnings: [], unasked: null }));
  expect(markup).toContain(`The script does not use ${name}.`);
});
