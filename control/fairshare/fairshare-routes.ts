/**
 * Fairshare group routes.
 */
import { z } from "zod";
import {
  createGroupSchema,
  fairshareGroupSchema,
  groupWeightSchema,
  renameGroupSchema,
} from "../../shared/schema/fairshare.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { deleteGroup, renameGroup } from "./change-group.ts";
import { createGroup } from "./create-group.ts";
import { listGroups } from "./list-groups.ts";
import { setGroupWeight } from "./set-group-weight.ts";

const tag = "Fairshare";

export function fairshareRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/fairshare/groups",
    summary: "List fairshare groups",
    tag,
    answer: z.array(fairshareGroupSchema),
    handler: async ({ ctx, query }) => await listGroups(ctx, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: "/api/v1/fairshare/groups",
    summary: "Create a fairshare group",
    tag,
    body: createGroupSchema,
    answer: fairshareGroupSchema,
    handler: async ({ ctx, body }) => await createGroup(ctx, body),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: "/api/v1/fairshare/groups/{name}",
    summary: "Rename a fairshare group; its tenants stay in it",
    tag,
    body: renameGroupSchema,
    answer: fairshareGroupSchema,
    handler: async ({ ctx, path, body }) => await renameGroup(ctx, path.name, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: "/api/v1/fairshare/groups/{name}",
    summary: "Delete a fairshare group that has no tenants",
    tag,
    handler: async ({ ctx, path }) => await deleteGroup(ctx, path.name),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: "/api/v1/fairshare/groups/{name}/weight",
    summary: "Set the weight of a fairshare group",
    tag,
    body: groupWeightSchema,
    answer: fairshareGroupSchema,
    handler: async ({ ctx, path, body }) => await setGroupWeight(ctx, path.name, body),
  });
}
