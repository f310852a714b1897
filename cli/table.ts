/**
 * Every command, once: paths, aliases, flags, positionals, and where its code is. The parser, help, the list of
 * accepted flags and the generated tables are read from it. Nothing heavy is imported here; a command's code loads
 * when it runs.
 */
import type { Io } from './io.ts'

export type Flag = {
  readonly name: `--${string}`
  /** Name of the value in help; a flag without one is a switch. */
  readonly value?: string
  readonly repeat?: true
  readonly short?: `-${string}`
  readonly values?: readonly string[]
}

export type Positional = { readonly name: string; readonly required?: true; readonly repeat?: true }

export type Input = {
  /** Value of `--id`, wherever it stood. */
  readonly id: string | undefined
  readonly flags: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
}

export type Run = (io: Io, input: Input) => Promise<number>

export type CommandRow = {
  readonly path: string
  readonly aliases?: readonly string[]
  readonly group: 'node' | 'identity' | 'hub' | 'work' | 'proof' | 'agents' | 'other'
  readonly summary: string
  readonly positionals?: readonly Positional[]
  readonly flags?: readonly Flag[]
  readonly needsDaemon: boolean
  readonly example?: string
  readonly load: () => Promise<Run>
}

const need = (name: string): Positional => ({ name, required: true })
const may = (name: string): Positional => ({ name })
const on = (name: `--${string}`, short?: `-${string}`): Flag =>
  short === undefined ? { name } : { name, short }
const takes = (name: `--${string}`, value: string, values?: readonly string[]): Flag =>
  values === undefined ? { name, value } : { name, value, values }
const many = (name: `--${string}`, value: string): Flag => ({ name, value, repeat: true })

const node = () => import('./commands/node.ts')
const identity = () => import('./commands/identity.ts')
const hub = () => import('./commands/hub.ts')
const work = () => import('./commands/work.ts')
const proof = () => import('./commands/proof.ts')
const agents = () => import('./commands/agents.ts')
const other = () => import('./commands/other.ts')

export const commands: readonly CommandRow[] = [
  {
    path: 'daemon',
    group: 'node',
    needsDaemon: false,
    summary: 'run the node in the foreground',
    flags: [on('--detach', '-d'), on('--stdio')],
    load: async () => (await node()).daemon,
    example: 'svc daemon --stdio',
  },
  {
    path: 'up',
    group: 'node',
    needsDaemon: false,
    summary: 'start the node in the background',
    positionals: [may('name')],
    load: async () => (await node()).up,
  },
  {
    path: 'stop',
    aliases: ['down'],
    group: 'node',
    needsDaemon: true,
    summary: 'stop the node',
    positionals: [may('name')],
    flags: [on('--all')],
    load: async () => (await node()).stop,
  },
  {
    path: 'status',
    group: 'node',
    needsDaemon: true,
    summary: 'show the node: identity, hub, policies, counts',
    load: async () => (await node()).status,
  },
  {
    path: 'logs',
    group: 'node',
    needsDaemon: false,
    summary: 'print the last lines of the log (80)',
    positionals: [may('N')],
    flags: [on('--all')],
    load: async () => (await node()).logs,
  },

  {
    path: 'id ls',
    aliases: ['list'],
    group: 'identity',
    needsDaemon: false,
    summary: 'list the identities of this home',
    load: async () => (await identity()).ls,
  },
  {
    path: 'id new',
    aliases: ['create', 'add'],
    group: 'identity',
    needsDaemon: false,
    summary: 'create an identity and start its node',
    positionals: [need('name')],
    load: async () => (await identity()).create,
  },
  {
    path: 'id use',
    aliases: ['switch', 'select'],
    group: 'identity',
    needsDaemon: false,
    summary: 'set the default identity',
    positionals: [need('name')],
    load: async () => (await identity()).use,
  },
  {
    path: 'id rm',
    aliases: ['remove', 'delete'],
    group: 'identity',
    needsDaemon: false,
    summary: 'delete an identity (without --purge only its path is printed)',
    positionals: [need('name')],
    flags: [on('--purge')],
    load: async () => (await identity()).rm,
  },
  {
    path: 'id rotate',
    group: 'identity',
    needsDaemon: true,
    summary: 'rotate to the pre-committed key',
    flags: [on('--recovery-phrase-stdin')],
    load: async () => (await identity()).rotate,
  },
  {
    path: 'id deactivate',
    group: 'identity',
    needsDaemon: true,
    summary: 'end this identity for good',
    flags: [on('--yes'), on('--recovery-phrase-stdin')],
    load: async () => (await identity()).deactivate,
  },
  {
    path: 'id next export',
    group: 'identity',
    needsDaemon: false,
    summary: 'print the next key as a recovery phrase; --remove takes it off this machine',
    flags: [on('--remove')],
    load: async () => (await identity()).nextExport,
  },
  {
    path: 'id next import',
    group: 'identity',
    needsDaemon: false,
    summary: 'bring the next key back from its recovery phrase (standard input)',
    load: async () => (await identity()).nextImport,
  },

  {
    path: 'hub-register',
    group: 'hub',
    needsDaemon: true,
    summary: 'register at a hub',
    positionals: [need('url')],
    flags: [
      takes('--name', 'NAME'),
      takes('--caps', 'a,b'),
      takes('--token', 'CODE'),
      takes('--guest-messages', 'N'),
      takes('--accept-delegations', 'true|false'),
      takes('--wire', 'N', ['1', '3']),
      on('--recovery-phrase-stdin'),
    ],
    load: async () => (await hub()).register,
    example: 'svc hub-register https://hub.example --caps text.summarise',
  },
  {
    path: 'hub-leave',
    group: 'hub',
    needsDaemon: true,
    summary: 'deregister at a hub',
    positionals: [may('url')],
    load: async () => (await hub()).leave,
  },
  {
    path: 'accept',
    group: 'hub',
    needsDaemon: true,
    summary: 'take or drop incoming delegations',
    positionals: [need('on|off')],
    load: async () => (await hub()).accept,
  },
  {
    path: 'profile set',
    group: 'hub',
    needsDaemon: true,
    summary: 'change the public profile (@path reads a file)',
    flags: [takes('--summary', 'TEXT'), takes('--readme', 'TEXT'), takes('--pricing', 'TEXT')],
    load: async () => (await hub()).profileSet,
  },
  {
    path: 'profile show',
    group: 'hub',
    needsDaemon: true,
    summary: 'show the profile',
    load: async () => (await node()).status,
  },
  {
    path: 'visibility',
    group: 'hub',
    needsDaemon: true,
    summary: 'how far the directory entry travels',
    positionals: [need('hub-local|federated|public')],
    load: async () => (await hub()).visibility,
  },
  {
    path: 'autoreply show',
    aliases: ['auto-reply show'],
    group: 'hub',
    needsDaemon: true,
    summary: 'show the auto-reply',
    load: async () => (await agents()).show,
  },
  {
    path: 'autoreply set',
    aliases: ['auto-reply set'],
    group: 'hub',
    needsDaemon: true,
    summary: 'answer tasks with an agent or a model',
    flags: [
      takes('--backend', 'exec|openai', ['exec', 'openai']),
      takes('--agent', 'TOOL'),
      takes('--work-dir', 'DIR'),
      takes('--openclaw-agent', 'ID'),
      takes('--model', 'MODEL'),
      takes('--api-base', 'URL'),
      takes('--api-key', 'KEY'),
      takes('--system-prompt', 'TEXT'),
      takes('--require-image', 'true|false'),
      takes('--usage-hint', 'TEXT'),
      takes('--error-reply', 'TEXT'),
      takes('--command', 'COMMAND'),
      takes('--poll-interval', 'SECONDS'),
      takes('--max-history', 'TURNS'),
      takes('--api-timeout', 'SECONDS'),
      takes('--max-auto-replies', 'N'),
      takes('--strangers', 'true|false'),
      takes('--tools', 'none|read|write', ['none', 'read', 'write']),
    ],
    load: async () => (await agents()).set,
    example: 'svc autoreply set --agent claude',
  },
  {
    path: 'autoreply off',
    aliases: ['auto-reply off'],
    group: 'hub',
    needsDaemon: true,
    summary: 'stop answering',
    load: async () => (await agents()).off,
  },
  {
    path: 'autoreply test',
    aliases: ['auto-reply test'],
    group: 'hub',
    needsDaemon: true,
    summary: 'ask the backend once, without sending anything',
    positionals: [may('question')],
    load: async () => (await agents()).test,
  },

  {
    path: 'contact add',
    group: 'work',
    needsDaemon: true,
    summary: 'give an agent a petname',
    positionals: [need('aid'), need('name')],
    load: async () => (await work()).contactAdd,
  },
  {
    path: 'contact ls',
    group: 'work',
    needsDaemon: true,
    summary: 'list the contacts',
    load: async () => (await work()).contactLs,
  },
  {
    path: 'contact rm',
    group: 'work',
    needsDaemon: true,
    summary: 'forget a contact',
    positionals: [need('name')],
    load: async () => (await work()).contactRm,
  },
  {
    path: 'contact block',
    group: 'work',
    needsDaemon: true,
    summary: 'take nothing from an agent any more (--off lifts it)',
    positionals: [need('name')],
    flags: [on('--off')],
    load: async () => (await work()).contactBlock,
  },
  {
    path: 'find',
    group: 'work',
    needsDaemon: true,
    summary: 'search the directory of the hub',
    positionals: [may('query')],
    flags: [takes('--cap', 'ID'), takes('--limit', 'N'), takes('--cursor', 'CURSOR')],
    load: async () => (await work()).find,
  },
  {
    path: 'delegate',
    group: 'work',
    needsDaemon: true,
    summary: 'hand a task or a capability call to an agent',
    positionals: [need('aid'), may('task')],
    flags: [many('--attach', 'PATH'), takes('--capability', 'ID'), takes('--args', 'JSON'), on('--pay')],
    load: async () => (await work()).delegate,
    example: 'svc delegate bob "summarise the attached report" --attach report.md',
  },
  {
    path: 'inbox',
    group: 'work',
    needsDaemon: true,
    summary: 'tasks delegated to me',
    flags: [on('--pending'), takes('--search', 'TEXT'), takes('--limit', 'N'), takes('--cursor', 'CURSOR')],
    load: async () => (await work()).inbox,
  },
  {
    path: 'approve',
    group: 'work',
    needsDaemon: true,
    summary: 'take a waiting task of a stranger',
    positionals: [need('id')],
    load: async () => (await work()).approve,
  },
  {
    path: 'decline',
    group: 'work',
    needsDaemon: true,
    summary: 'refuse a task',
    positionals: [need('id'), may('reason')],
    load: async () => (await work()).decline,
  },
  {
    path: 'thread',
    group: 'work',
    needsDaemon: true,
    summary: 'the full conversation',
    positionals: [need('id')],
    load: async () => (await work()).thread,
  },
  {
    path: 'message',
    aliases: ['msg'],
    group: 'work',
    needsDaemon: true,
    summary: 'send a message',
    positionals: [need('id'), may('text')],
    flags: [takes('--file', 'PATH'), many('--attach', 'PATH')],
    load: async () => (await work()).message,
  },
  {
    path: 'pull',
    group: 'work',
    needsDaemon: true,
    summary: 'save the attachments and documents',
    positionals: [need('id')],
    flags: [takes('--out', 'DIR')],
    load: async () => (await work()).pull,
  },
  {
    path: 'end',
    group: 'work',
    needsDaemon: true,
    summary: 'propose to end',
    positionals: [need('id'), may('note')],
    load: async () => (await work()).end,
  },
  {
    path: 'accept-end',
    group: 'work',
    needsDaemon: true,
    summary: 'agree to end',
    positionals: [need('id')],
    load: async () => (await work()).acceptEnd,
  },
  {
    path: 'cancel',
    group: 'work',
    needsDaemon: true,
    summary: 'withdraw a task I delegated',
    positionals: [need('id'), may('reason')],
    load: async () => (await work()).cancel,
  },
  {
    path: 'results',
    group: 'work',
    needsDaemon: true,
    summary: 'ended tasks I delegated',
    flags: [on('--all'), takes('--limit', 'N'), takes('--cursor', 'CURSOR')],
    load: async () => (await work()).results,
  },

  {
    path: 'review',
    group: 'proof',
    needsDaemon: true,
    summary: 'rate an ended task, 1 to 5',
    positionals: [need('id'), need('rating'), may('comment')],
    load: async () => (await proof()).review,
  },
  {
    path: 'evidence',
    group: 'proof',
    needsDaemon: true,
    summary: 'read the evidence chain',
    flags: [takes('--type', 'EVENT'), takes('--since', 'SEQ'), takes('--limit', 'N')],
    load: async () => (await proof()).evidence,
  },
  {
    path: 'verify',
    group: 'proof',
    needsDaemon: false,
    summary: 'verify a receipt: by interaction, or offline with --receipt',
    positionals: [may('id')],
    flags: [
      takes('--receipt', 'BASE64'),
      takes('--kel', 'BASE64'),
      takes('--hub', 'URL'),
      takes('--result', 'FILE'),
    ],
    load: async () => (await proof()).verify,
    example: 'svc verify --receipt "$(cat receipt.b64)" --hub https://hub.example --result result.json',
  },

  {
    path: 'watch',
    group: 'agents',
    needsDaemon: true,
    summary: 'events of the node, one JSON object a line',
    flags: [takes('--since', 'CURSOR')],
    load: async () => (await other()).watch,
  },
  {
    path: 'mcp',
    group: 'agents',
    needsDaemon: true,
    summary: 'MCP server on stdio for a running node',
    load: async () => (await node()).mcp,
  },
  {
    path: 'demo',
    group: 'other',
    needsDaemon: false,
    summary: 'the main job on this machine: a hub, two nodes, one task, its proof',
    flags: [on('--json'), takes('--break', 'STEP'), on('--exit')],
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    path: 'version',
    aliases: ['--version', '-v'],
    group: 'other',
    needsDaemon: false,
    summary: 'version, commit, build time, modules',
    load: async () => (await import('./version.ts')).version,
  },
  {
    path: 'help',
    aliases: ['--help', '-h'],
    group: 'other',
    needsDaemon: false,
    summary: 'this help; --all lists every flag',
    positionals: [may('command')],
    flags: [on('--all')],
    load: async () => (await import('./help.ts')).help,
  },
]

/** First words under which two-word commands stand. */
export const groupAliases: Readonly<Record<string, string>> = {
  ids: 'id',
  identity: 'id',
  contacts: 'contact',
  'auto-reply': 'autoreply',
}
/** What a first word alone means. */
export const groupDefaults: Readonly<Record<string, string>> = {
  id: 'id ls',
  contact: 'contact ls',
  profile: 'profile show',
  autoreply: 'autoreply show',
}

/** Flag that every command takes, anywhere on the line. */
export const ID_FLAG: Flag = { name: '--id', value: 'NAME' }
