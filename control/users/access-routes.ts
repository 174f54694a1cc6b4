/** Routes for who may sign in to the console, and with what: invitations, groups of providers, sessions. */
import { z } from "zod";
import { createGroupGrantSchema, groupGrantSchema } from "../../shared/schema/group-grant.ts";
import { createInvitationSchema, invitationSchema } from "../../shared/schema/invitation.ts";
import { endSessionsQuerySchema, userSessionSchema } from "../../shared/schema/user-session.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { createGroupGrant, deleteGroupGrant, listGroupGrants } from "./group-grants.ts";
import { createInvitation, deleteInvitation, listInvitations } from "./invitations.ts";
import { endUserSession, endUserSessions, listUserSessions } from "./user-sessions.ts";

const tag = "Users";
const invitations = "/api/v1/invitations";
const grants = "/api/v1/group-grants";
const sessions = "/api/v1/users/{id}/sessions";

export function accessRoutes(app: Api, { groupProviders }: Pick<ApiDeps, "groupProviders">): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: invitations,
    summary: "List invitations to the console, newest first",
    tag,
    answer: z.array(invitationSchema),
    handler: async ({ ctx, query }) => await listInvitations(ctx, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: invitations,
    summary: "Invite somebody to the console by email",
    description:
      "Nothing is mailed. A person who signs in with this email, verified by the provider, before the invitation expires is active at once.",
    tag,
    body: createInvitationSchema,
    answer: invitationSchema,
    handler: async ({ ctx, body }) => await createInvitation(ctx, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: `${invitations}/{id}`,
    summary: "Revoke an invitation",
    tag,
    handler: async ({ ctx, path }) => await deleteInvitation(ctx, path.id),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: grants,
    summary: "List what groups of sign-in providers give",
    tag,
    answer: z.array(groupGrantSchema),
    handler: async ({ ctx }) => await listGroupGrants(ctx),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: grants,
    summary: "Give a role to a group of a sign-in provider",
    description: "It applies when somebody of the group signs in the next time.",
    tag,
    body: createGroupGrantSchema,
    answer: groupGrantSchema,
    handler: async ({ ctx, body }) => await createGroupGrant(ctx, body, groupProviders),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: `${grants}/{id}`,
    summary: "Take a role away from a group of a sign-in provider",
    tag,
    handler: async ({ ctx, path }) => await deleteGroupGrant(ctx, path.id),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: sessions,
    summary: "List the sessions of a user, last used first",
    tag,
    access: { isOwn: true },
    answer: z.array(userSessionSchema),
    handler: async ({ ctx, path }) => await listUserSessions(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: sessions,
    summary: "End all sessions of a user",
    tag,
    access: { isOwn: true },
    query: endSessionsQuerySchema,
    handler: async ({ ctx, path, query }) => await endUserSessions(ctx, path.id, query),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: `${sessions}/{session_id}`,
    summary: "End one session of a user",
    tag,
    access: { isOwn: true },
    handler: async ({ ctx, path }) => await endUserSession(ctx, path.id, path.session_id),
  });
}
