/** What a node refuses, by code: the HTTP status and the command that helps. */

/** `reason` of a refusal, docs/operations.md (Codes). */
export type ControlCode = keyof typeof controlCodes

/**
 * Codes of the control interface: status, and what to do next unless the refusal says better. Each line of a next step is
 * one command and nothing else, or words.
 */
export const controlCodes = {
  bad_request: { status: 400, next: 'svc help <command>' },
  unauthorized: { status: 401, next: 'read control_token.txt of the data directory' },
  forbidden_origin: { status: 403, next: 'use the address that the daemon printed' },
  not_found: { status: 404, next: 'svc help --all' },
  unknown_interaction: { status: 404, next: 'svc inbox\nsvc results' },
  unknown_peer: { status: 404, next: 'svc find\nsvc contact add <aid> <name>' },
  unknown_contact: { status: 404, next: 'svc contact ls' },
  wrong_state: { status: 409, next: 'svc thread <id>' },
  idempotency_conflict: { status: 409, next: 'use another idempotency key for another content' },
  petname_taken: { status: 409, next: 'svc contact rm <name>' },
  too_large: { status: 413, next: 'send less, or several messages' },
  no_hub: { status: 409, next: 'svc hub-register <url> --name <name>' },
  hub_unreachable: { status: 502, next: 'svc status' },
  hub_refused: { status: 502, next: 'svc status' },
  hub_incompatible: {
    status: 502,
    next: 'the hub and this node must be of the same release line\nsvc version',
  },
  hub_unsealed: { status: 409, next: 'svc hub-register <url> --wire 1' },
  no_board: { status: 409, next: 'give the task to an agent:\nsvc delegate <aid> "<task>"' },
  unknown_card: { status: 404, next: 'svc task ls' },
  not_for_you: { status: 403, next: 'svc task show <id>' },
  credits_remain: { status: 409, next: 'svc id deactivate --yes --forfeit-credits' },
  identity_deactivated: { status: 409, next: 'svc id new <name>' },
  old_copy: { status: 409, next: 'stop this node before its files are replaced\nsvc status' },
  next_key_missing: { status: 409, next: 'svc id next import < phrase.txt' },
  no_auto_reply: { status: 409, next: 'svc autoreply set --agent <tool>' },
  backend_failed: { status: 502, next: 'svc autoreply show\nsvc logs' },
  no_receipt: { status: 409, next: 'both sides must end first\nsvc thread <id>' },
  file_unreadable: { status: 400, next: 'check the path' },
  no_credits: { status: 501, next: 'this release has no payment module\nsvc version' },
  no_direct: { status: 409, next: 'svc status' },
  disk_full: { status: 507, next: 'free some room on the disk, then repeat it' },
  internal: { status: 500, next: 'svc logs' },
} as const satisfies Record<string, { status: number; next: string }>

/** Whether the code is one of {@link controlCodes}. */
export const isControlCode = (code: string): code is ControlCode => Object.hasOwn(controlCodes, code)
