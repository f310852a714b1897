/** Settings of the modules: what each capability that a node serves is made of. */
import * as z from 'zod'
import { aidShape, capTag, lineShape } from '../../protocol/contract/shapes.ts'
import { isPlainText } from '../../protocol/encoding/plain-text.ts'

const SERVICES_MAX = 64
const CALLERS_MAX = 10_000
const MIB = 1024 * 1024
const callers = z.array(aidShape).max(CALLERS_MAX)

/** A local HTTP service that answers calls of one capability. */
const Service = z.strictObject({
  id: capTag,
  url: z.url({ protocol: /^https?$/, error: 'expected an http or https address' }),
  method: z.enum(['POST', 'GET']).default('POST'),
  timeout_seconds: z.int().min(1).max(600).default(30),
  summary: lineShape(200).default(''),
  /** Sent with every call, for instance a token; never published. */
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/), z.string().max(4096)).default({}),
  /** Whether the capability is named in the directory. */
  published: z.boolean().default(true),
  /** Credits for a call, unless `svc price set` says others; a build that cannot take them runs nothing. */
  price: z.int().min(1).optional(),
})
export type ServiceConfig = z.infer<typeof Service>

const Cas = z.strictObject({
  bytes_per_caller: z
    .int()
    .min(1)
    .max(1024 * MIB)
    .default(16 * MIB),
  bytes: z
    .int()
    .min(1)
    .max(64 * 1024 * MIB)
    .default(256 * MIB),
})
export type CasConfig = z.infer<typeof Cas>

const Blackboard = z.strictObject({
  /** Who may read and write; nobody else, and an empty list refuses everyone. */
  allow: callers,
  notes: z.int().min(1).max(256).default(64),
  note_bytes: z
    .int()
    .min(1)
    .max(16 * 1024)
    .default(4096),
})
export type BlackboardConfig = z.infer<typeof Blackboard>

const Taskboard = z.strictObject({
  /** Who may act on cards in the name of this node, and read them; nobody else, and an empty list refuses everyone. */
  allow: callers.default([]),
  /** Who may read the board through this node. */
  readers: callers.default([]),
})
export type TaskboardConfig = z.infer<typeof Taskboard>

const NAMED_CAPABILITIES_MAX = 1_024
/** `device/capability`, as adapters describe them. */
const ofDevice = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\/[A-Za-z][A-Za-z0-9._-]{0,63}$/, {
  error: 'expected device/capability',
})
const tier = z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3), z.literal(4)])
const Svclink = z.strictObject({
  /** Who may read and write, and who may only read, each capability of a device; nobody else, whatever an adapter says. */
  capabilities: z
    .record(ofDevice, z.strictObject({ allow: callers.default([]), readers: callers.default([]) }))
    .refine(all => Object.keys(all).length <= NAMED_CAPABILITIES_MAX, {
      error: `expected at most ${NAMED_CAPABILITIES_MAX} capabilities`,
    })
    .default({}),
  /** The most that the word of an adapter counts for. */
  verify_trust: tier.default(2),
  auth_trust: tier.default(1),
  /** Path of the socket; in the data directory unless set. */
  socket: z.string().startsWith('/', { error: 'expected an absolute path' }).optional(),
})
export type SvclinkConfig = z.infer<typeof Svclink>

const Org = z.strictObject({
  members: callers,
  values: z.record(
    z.string().regex(/^[A-Za-z0-9._-]{1,64}$/),
    z.string().min(1).max(4096).refine(isPlainText),
  ),
})

const KIB = 1024
const argument = z
  .string()
  .max(4096)
  .refine(text => !text.includes('\0'))
/** Matched against the whole of an argument. */
const pattern = z.string().min(1).max(1024).refine(isPattern, { error: 'expected a regular expression' })
const Command = z.strictObject({
  /** Program and first arguments; those of the call follow, where any are allowed. */
  argv: z.array(argument).min(1).max(64),
  /** How many arguments a call may add, or a pattern for each, of which the last ones may be missing; none unless set. */
  arguments: z.union([z.int().min(0).max(64), z.array(pattern).max(64)]).default(0),
  /** Whether `--` stands before those of the call, after which many programs take no options. */
  end_of_options: z.boolean().default(false),
  description: lineShape(200).default(''),
  timeout_seconds: z.int().min(1).max(3600).default(60),
  /** Where it runs; the home directory unless set. */
  dir: z.string().optional(),
})
const Shell = z
  .strictObject({
    commands: z.record(z.string().regex(/^[A-Za-z0-9._-]{1,40}$/), Command).default({}),
    allow: callers.optional(),
    /** One AID a line, read for every call. */
    allow_file: z.string().optional(),
    /** Lets the owner of the node call, who has no caller identity. */
    allow_local: z.boolean().default(false),
    /** Offers `shell.exec`, which runs any command of its caller. */
    allow_arbitrary: z.boolean().default(false),
    max_output_bytes: z
      .int()
      .min(1)
      .max(4 * MIB)
      .default(64 * KIB),
  })
  .refine(({ allow, allow_file }) => allow === undefined || allow_file === undefined, {
    error: 'allow and allow_file are both given; keep one of them',
  })
export type ShellConfig = z.infer<typeof Shell>
export type ShellCommand = z.infer<typeof Command>

const isUnique = (services: readonly ServiceConfig[]): boolean =>
  new Set(services.map(({ id }) => id)).size === services.length

export const ModulesConfig = z.strictObject({
  service: z
    .array(Service)
    .max(SERVICES_MAX)
    .refine(isUnique, { error: 'each id may stand there once' })
    .optional(),
  cas: Cas.optional(),
  blackboard: Blackboard.optional(),
  org: Org.optional(),
  taskboard: Taskboard.optional(),
  svclink: Svclink.optional(),
  shell: Shell.optional(),
})
export type ModulesConfig = z.infer<typeof ModulesConfig>

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}
