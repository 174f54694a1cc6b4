/** Texts of the dialog of fairshare groups. */
export const groupsTexts = {
  title: "Fairshare groups",
  about:
    "Tenants of a group share its slots. A tenant's group is set on the tenant's page. A new group starts with the weight {weight}.",
  failed: "Could not load the groups.",
  name: "Name",
  weight: "Weight",
  actions: "Actions",
  rename: "Rename",
  renameOf: "Rename group {name}",
  newName: "New name of group {name}",
  renamed: "Group {from} is now {to}",
  renameFailed: "Group {name} was not renamed",
  delete: "Delete",
  deleteOf: "Delete group {name}",
  deleted: "Group {name} deleted",
  deleteFailed: "Group {name} was not deleted",
  newGroup: "New group",
  create: "Create",
  created: "Group {name} created",
  createFailed: "Group {name} was not created",
} as const;
