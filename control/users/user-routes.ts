/**
 * Routes for the people who sign in to the console.
 */
import { z } from "zod";
import { listedUserSchema, updateUserSchema, userSchema, usersFilterSchema } from "../../shared/schema/user.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { deleteUser } from "./delete-user.ts";
import { getUser } from "./get-user.ts";
import { listUsers } from "./list-users.ts";
import { updateUser } from "./update-user.ts";

const tag = "Users";
const one = "/api/v1/users/{id}";

export function userRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/users",
    summary: "List the people who have signed in to the console, newest first",
    tag,
    query: usersFilterSchema,
    answer: z.array(listedUserSchema),
    handler: async ({ ctx, query }) => await listUsers(ctx, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: one,
    summary: "Read a user",
    tag,
    answer: userSchema,
    handler: async ({ ctx, path }) => await getUser(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: one,
    summary: "Approve a user, or change status, role and tenant",
    tag,
    body: updateUserSchema,
    answer: userSchema,
    handler: async ({ ctx, path, body }) => await updateUser(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Delete a user and all sessions",
    tag,
    handler: async ({ ctx, path }) => await deleteUser(ctx, path.id),
  });
}
