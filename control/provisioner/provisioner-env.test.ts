import { expect, it } from "vitest";
import { parseLoneProvisionerEnv } from "./provisioner-env.ts";

it.each([[{}], [{ GATEWAY_ADMIN_TOKEN: undefined }], [{ GATEWAY_ADMIN_TOKEN: "" }], [{ GATEWAY_ADMIN_TOKEN: " " }]])(
  "a provisioner alone does not start without an admin token: %j",
  (variables) => {
    expect(() => parseLoneProvisionerEnv(variables)).toThrow(
      "GATEWAY_ADMIN_TOKEN is required: use the control service's token",
    );
  },
);

it("a provisioner alone takes the token as it is", () => {
  expect(parseLoneProvisionerEnv({ GATEWAY_ADMIN_TOKEN: "a token" }).adminToken).toBe("a token");
});
