/** Who finds which page in the navigation. */
import { expect, it } from "vitest";
import { navigationOf } from "./navigation.ts";

const pathsOf = (role: "admin" | "user", isReadOnly = false) =>
  navigationOf({ role, isReadOnly }).flatMap((group) => group.map(({ to }) => to));

it("leads a tenant's people to every page of theirs", () => {
  expect(pathsOf("user")).toEqual([
    "/portal",
    "/logs",
    "/service",
    "/reports",
    "/batches",
    "/portal/limits",
    "/portal/models",
    "/keys",
    "/playground",
    "/portal/guide",
  ]);
});

it("leaves out pages of features that are not configured", () => {
  const paths = navigationOf({ role: "admin", isReadOnly: false }, ["/deployments"]).flatMap((group) =>
    group.map(({ to }) => to),
  );
  expect(pathsOf("admin").filter((path) => !paths.includes(path))).toEqual(["/deployments"]);
});

it("leads admins to everything but the portal", () => {
  expect(pathsOf("admin")).toContain("/reports");
  expect(pathsOf("admin").filter((path) => path.startsWith("/portal"))).toEqual([]);
});

it("leads who can only read to no page that costs or changes something", () => {
  const missing = (role: "admin" | "user") =>
    pathsOf(role).filter((path) => !pathsOf(role, true).some((one) => one === path));
  expect({ auditor: missing("admin"), viewer: missing("user") }).toEqual({
    auditor: ["/playground", "/assistant"],
    viewer: ["/playground"],
  });
});
