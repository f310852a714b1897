/**
 * The rooms of the house, lowest first: what each is for and which rooms below it may use. docs/architecture.md prints
 * this table, the tests hold the code to it. A room is a folder or, beside folders, a file; a file of a folder without
 * an entry of its own belongs to the nearest folder above that has one.
 */

export type Room = { purpose: string; uses: readonly string[] }

const formats = [
  'protocol/encoding',
  'protocol/crypto',
  'protocol/identity',
  'protocol/contract',
  'protocol/proof',
  'protocol/mail',
]
const nodeFloor = [
  ...formats,
  'protocol/build-info.ts',
  'protocol/shell.ts',
  'protocol/control',
  'daemon/refusal.ts',
  'daemon/platform',
  'daemon/home',
  'daemon/store',
  'daemon/identity',
  'daemon/chain',
  'daemon/archive',
  'daemon/attachments',
  'daemon/hubs',
  'daemon/peers',
]
const nodeTop = [
  ...nodeFloor,
  'daemon/context.ts',
  'daemon/modules',
  'daemon/payments',
  'daemon/tasks',
  'daemon/mail',
  'daemon/membership',
]
const hubBase = [
  'hub/faults.ts',
  'hub/terminal.ts',
  'hub/bind.ts',
  'hub/lean-memory.ts',
  'hub/limits-config.ts',
  'hub/config-refused.ts',
  'hub/about-config.ts',
  'hub/checkpoint-config.ts',
  'hub/config.ts',
  'hub/data-dir.ts',
]

export const rooms: Record<string, Room> = {
  'protocol/encoding': {
    purpose: 'bytes and text to values, and the bases of errors; no object of ours',
    uses: [],
  },
  'protocol/build-info.ts': { purpose: 'version, commit and time of this build', uses: [] },
  'protocol/shell.ts': {
    purpose: 'what people copy into a shell: words, and how a program is called where it was started',
    uses: [],
  },
  'protocol/completion.ts': {
    purpose: 'what a shell offers behind a program, written from its table of commands',
    uses: [],
  },
  'protocol/crypto': {
    purpose: 'hashes, signatures, HPKE, streams; two engines behind `#crypto`',
    uses: ['protocol/encoding'],
  },
  'protocol/identity': {
    purpose: 'who: AID, key event log, key sets, cards, directory, proof of work',
    uses: ['protocol/encoding', 'protocol/crypto'],
  },
  'protocol/contract': {
    purpose: 'what a route is, its client, shapes of JSON values',
    uses: ['protocol/encoding', 'protocol/identity'],
  },
  'protocol/proof': {
    purpose: 'what is shown later: documents, effects, receipts, evidence, verdicts',
    uses: ['protocol/encoding', 'protocol/crypto', 'protocol/identity', 'protocol/contract'],
  },
  'protocol/mail': {
    purpose: 'what is sealed and what opens it',
    uses: formats.filter(room => room !== 'protocol/mail'),
  },
  'protocol/wire3': {
    purpose: 'wire 3: routes, codes, headers, signed requests',
    uses: [
      'protocol/encoding',
      'protocol/crypto',
      'protocol/identity',
      'protocol/contract',
      'protocol/proof',
    ],
  },
  'protocol/control': {
    purpose: "the node's operations: codes, shapes, rows",
    uses: ['protocol/encoding', 'protocol/identity', 'protocol/contract'],
  },

  'console/verify': {
    purpose: 'the page that verifies receipts and chains in a browser, and loads nothing',
    uses: ['protocol/encoding', 'protocol/crypto', 'protocol/identity', 'protocol/proof'],
  },

  x402: {
    purpose: 'svc-x402: paying and being paid with the stock packages of x402',
    uses: formats,
  },
  'hub/faults.ts': { purpose: 'points where a test makes the disk or the process fail', uses: [] },
  'hub/terminal.ts': {
    purpose: 'what commands print, and their exit codes',
    uses: ['protocol/encoding', 'protocol/shell.ts'],
  },
  'hub/lean-memory.ts': { purpose: 'settings that keep the memory small', uses: [] },
  'hub/store': {
    purpose: 'the store: atomic operations behind a port, one SQLite writer, files of envelopes',
    uses: [...formats, 'hub/faults.ts', 'hub/lean-memory.ts'],
  },
  'hub/core': {
    purpose: 'what a hub does, knowing no HTTP and no wire',
    uses: [...formats, 'hub/faults.ts', 'hub/store'],
  },
  'hub/http': {
    purpose: 'HTTP without a word of a wire: bodies, rate watch, router, HTML, sending',
    uses: ['protocol/encoding', 'protocol/contract', 'hub/store', 'hub/core'],
  },
  'hub/v3': {
    purpose: 'wire 3 over HTTP',
    uses: [
      ...formats,
      'protocol/build-info.ts',
      'protocol/wire3',
      'hub/faults.ts',
      'hub/store',
      'hub/core',
      'hub/http',
    ],
  },
  'hub/limits-config.ts': { purpose: 'the limits with their bounds', uses: ['hub/core'] },
  'hub/config-refused.ts': {
    purpose: 'the refusal of a configuration',
    uses: ['protocol/encoding', 'protocol/contract'],
  },
  'hub/about-config.ts': {
    purpose: 'the settings by which a hub says whose it is',
    uses: ['protocol/encoding', 'hub/config-refused.ts', 'hub/core'],
  },
  'hub/checkpoint-config.ts': {
    purpose: 'the setting that names witnesses of transparency logs',
    uses: ['protocol/encoding', 'protocol/proof', 'hub/config-refused.ts', 'hub/core'],
  },
  'hub/config.ts': {
    purpose: 'the configuration: file, environment, flags',
    uses: [
      'protocol/encoding',
      'protocol/contract',
      'hub/limits-config.ts',
      'hub/config-refused.ts',
      'hub/about-config.ts',
      'hub/checkpoint-config.ts',
      'hub/store',
      'hub/core',
    ],
  },
  'hub/bind.ts': { purpose: 'listening on an address', uses: ['hub/config-refused.ts', 'hub/config.ts'] },
  'hub/data-dir.ts': {
    purpose: 'the data directory and its lock',
    uses: ['protocol/build-info.ts', 'protocol/encoding', 'protocol/contract', 'hub/store', 'hub/core'],
  },
  'hub/operator': {
    purpose: 'all that an operator does: socket, orders, listener, backup, doctor',
    uses: [...formats, 'protocol/build-info.ts', 'hub/store', 'hub/core', 'hub/http', ...hubBase],
  },
  'hub/log.ts': { purpose: 'the log: JSON lines on stderr', uses: ['hub/core'] },
  'hub/lines.ts': {
    purpose: 'the wires that this hub speaks',
    uses: ['hub/config.ts', 'hub/http', 'hub/v3'],
  },
  'hub/witness': {
    purpose:
      'watching the supply chain of another hub, taking back what one has kept of ours, and offering checkpoints',
    uses: [
      ...formats,
      'protocol/wire3',
      'hub/faults.ts',
      'hub/store',
      'hub/core',
      'hub/data-dir.ts',
      'hub/terminal.ts',
    ],
  },
  'hub/serve.ts': {
    purpose: 'a running hub, put together',
    uses: [
      'protocol/build-info.ts',
      'protocol/encoding',
      'protocol/contract',
      'hub/store',
      'hub/core',
      'hub/http',
      'hub/log.ts',
      'hub/lines.ts',
      'hub/operator',
      'hub/witness',
      ...hubBase,
    ],
  },
  'hub/cli': {
    purpose: 'commands of the program svc-hub',
    uses: [
      'protocol/completion.ts',
      'protocol/shell.ts',
      'protocol/build-info.ts',
      'protocol/encoding',
      'protocol/identity',
      'protocol/contract',
      'protocol/proof',
      'hub/store',
      'hub/core',
      'hub/operator',
      'hub/log.ts',
      'hub/serve.ts',
      'hub/witness',
      ...hubBase,
    ],
  },

  autoreply: {
    purpose: 'what answers by itself: loop, exec and openai backends, coding agents as data',
    uses: ['protocol/encoding', 'protocol/contract'],
  },
  'daemon/refusal.ts': {
    purpose: 'refusals of the node',
    uses: ['protocol/contract', 'protocol/control'],
  },
  'daemon/platform': {
    purpose: 'the machine below: folders, durable files, SQLite, fault points, timers, events, memory',
    uses: ['protocol/encoding', 'protocol/contract', 'protocol/control'],
  },
  'daemon/home': {
    purpose: 'the data directory: where, lock, configuration, token',
    uses: [
      'protocol/encoding',
      'protocol/contract',
      'protocol/shell.ts',
      'protocol/control',
      'protocol/proof',
      'daemon/refusal.ts',
      'daemon/platform',
    ],
  },
  'daemon/store': {
    purpose: 'schema, transactions, and the only writers of tables',
    uses: [...formats, 'protocol/control', 'daemon/platform'],
  },
  'daemon/identity': { purpose: 'keys on disk', uses: [...formats, 'daemon/platform', 'daemon/home'] },
  'daemon/chain': {
    purpose: 'the evidence chain',
    uses: [...formats, 'daemon/platform', 'daemon/home', 'daemon/store', 'daemon/identity'],
  },
  'daemon/archive': {
    purpose: 'a whole data directory in one encrypted file: backups, and identities that move',
    uses: [
      ...formats,
      'protocol/build-info.ts',
      'protocol/shell.ts',
      'daemon/platform',
      'daemon/home',
      'daemon/store',
      'daemon/identity',
      'daemon/chain',
    ],
  },
  'daemon/attachments': {
    purpose: 'files by content id',
    uses: [...formats, 'daemon/refusal.ts', 'daemon/platform', 'daemon/store'],
  },
  'daemon/hubs': {
    purpose: 'a hub behind one interface; a folder for each wire implements it, open.ts chooses',
    uses: [
      ...formats,
      'protocol/wire3',
      'daemon/refusal.ts',
      'daemon/platform',
      'daemon/store',
      'daemon/identity',
    ],
  },
  'daemon/peers': {
    purpose: 'what we know of others: logs, contacts, capabilities',
    uses: [
      ...formats,
      'daemon/refusal.ts',
      'daemon/platform',
      'daemon/store',
      'daemon/identity',
      'daemon/hubs',
    ],
  },
  'daemon/context.ts': {
    purpose: 'the line: rooms above it may take the context, rooms below never do',
    uses: nodeFloor,
  },
  'daemon/modules': {
    purpose: 'what the node serves itself: providers of capabilities, chosen at build time',
    uses: [...nodeFloor, 'daemon/context.ts'],
  },
  'daemon/payments': {
    purpose:
      'paying and being paid: quotes judged by rules, holds, what takes or gives back; left out of a build on demand',
    uses: [...nodeFloor, 'daemon/context.ts'],
  },
  'daemon/ground.ts': {
    purpose: 'opens a data directory: every part below the line',
    uses: [...nodeFloor, 'daemon/context.ts'],
  },
  'daemon/tasks': {
    purpose: 'what an interaction may do: delegate, converse, end, receipt, review, answer',
    uses: [...nodeFloor, 'daemon/context.ts', 'daemon/modules', 'daemon/payments', 'autoreply'],
  },
  'daemon/mail': {
    purpose: 'messages in and out',
    uses: [...nodeFloor, 'daemon/context.ts', 'daemon/tasks'],
  },
  'daemon/membership': {
    purpose: 'our standing at hubs: join, keys, card, move, revoke',
    uses: [...nodeFloor, 'daemon/context.ts', 'daemon/tasks', 'daemon/mail'],
  },
  'daemon/control': {
    purpose: 'operations and views over loopback',
    uses: [...nodeTop, 'autoreply'],
  },
  'daemon/a2a': {
    purpose: 'tasks for agents over A2A 1.0: cards, JSON-RPC, HTTP+JSON, streams, pushes',
    uses: [...nodeTop, 'daemon/control'],
  },
  'daemon/maintenance.ts': { purpose: 'what a node does from time to time', uses: nodeTop },
  'daemon/node.ts': {
    purpose: 'composition of the running node',
    uses: [
      ...nodeTop,
      'daemon/ground.ts',
      'daemon/control',
      'daemon/a2a',
      'daemon/maintenance.ts',
      'autoreply',
    ],
  },

  mcp: {
    purpose: "nine tools over the node's operations; the only room that knows the MCP SDK",
    uses: [
      'protocol/shell.ts',
      'protocol/build-info.ts',
      'protocol/encoding',
      'protocol/contract',
      'protocol/control',
    ],
  },
  view: {
    purpose:
      'what the screens show, as data: one view of the node, its rows and sentences; no terminal, no page',
    uses: ['protocol/encoding', 'protocol/proof', 'protocol/control'],
  },
  tui: {
    purpose: 'the inbox in a terminal; the only room that knows Ink and React',
    uses: ['protocol/encoding', 'protocol/proof', 'protocol/control', 'view'],
  },
  'console/page': {
    purpose: 'the page of a node in the browser: its five screens, threads and pictures, drawn from the view',
    uses: ['protocol/encoding', 'protocol/control', 'view'],
  },
  'cli/reply.ts': { purpose: 'a reply as people read it: times, and commands as they are called', uses: [] },
  'cli/human': {
    purpose: 'replies as people read them: tables, times, turns',
    uses: ['protocol/encoding', 'cli/reply.ts'],
  },
  'cli/environment.ts': { purpose: 'variables of the environment that users set', uses: [] },
  'cli/output.ts': { purpose: 'standard output, and whether all of it arrived', uses: [] },
  'cli/io.ts': {
    purpose: 'streams, environment and exit codes of a command',
    uses: ['cli/reply.ts', 'cli/output.ts', 'protocol/encoding', 'protocol/shell.ts'],
  },
  'cli/waiting.ts': {
    purpose: 'what a terminal shows while a command waits',
    uses: ['protocol/encoding', 'cli/io.ts'],
  },
  'cli/command.ts': { purpose: 'what a command is', uses: ['cli/io.ts'] },
  'cli/version.ts': {
    purpose: 'what `version` prints',
    uses: ['protocol/build-info.ts', 'protocol/encoding', 'cli/io.ts', 'cli/command.ts'],
  },
  'cli/compile-cache.ts': {
    purpose: 'where compiled code is kept between commands',
    uses: ['daemon/platform'],
  },
  'cli/help.ts': { purpose: 'what `help` prints', uses: ['cli/io.ts', 'cli/command.ts'] },
  'cli/client': {
    purpose: 'calls from the command line: to a node, to a hub',
    uses: [
      'protocol/encoding',
      'protocol/contract',
      'protocol/control',
      'daemon/platform',
      'daemon/home',
      'daemon/archive',
      'cli/io.ts',
      'cli/waiting.ts',
      'protocol/shell.ts',
      'cli/command.ts',
    ],
  },
  'cli/words.ts': { purpose: 'which words may follow on a command line', uses: ['cli/command.ts'] },
  'cli/screen': {
    purpose: 'what the terminal inbox gets of the command line: the node, drafts, commands, an editor',
    uses: [
      'protocol/encoding',
      'protocol/control',
      'daemon/platform',
      'view',
      'tui',
      'cli/io.ts',
      'cli/command.ts',
      'cli/client',
      'cli/words.ts',
    ],
  },
  'cli/run': {
    purpose: 'the long-lived commands',
    uses: [
      'protocol/build-info.ts',
      'protocol/encoding',
      'protocol/contract',
      'protocol/control',
      'daemon/platform',
      'daemon/home',
      'daemon/control',
      'daemon/node.ts',
      'mcp',
      'cli/io.ts',
      'cli/command.ts',
      'cli/client',
    ],
  },
  'cli/install': {
    purpose: 'what svc puts into the files of coding agents, and how it is taken out again',
    uses: ['protocol/encoding', 'daemon/platform', 'daemon/home', 'cli/io.ts', 'protocol/shell.ts'],
  },
  'cli/doctor': {
    purpose: 'what `svc doctor` looks at',
    uses: [
      'protocol/build-info.ts',
      'protocol/encoding',
      'protocol/control',
      'daemon/platform',
      'daemon/home',
      'daemon/archive',
      'daemon/identity',
      'daemon/store',
      'daemon/chain',
      'cli/io.ts',
      'cli/client',
    ],
  },
  'cli/commands': {
    purpose: 'what each command does',
    uses: [
      'protocol/completion.ts',
      'protocol/build-info.ts',
      'protocol/shell.ts',
      'protocol/encoding',
      'protocol/crypto',
      'protocol/identity',
      'protocol/contract',
      'protocol/control',
      'protocol/proof',
      'protocol/wire3',
      'daemon/platform',
      'daemon/home',
      'daemon/store',
      'daemon/identity',
      'daemon/chain',
      'daemon/archive',
      'autoreply',
      'mcp',
      'tui',
      'cli/io.ts',
      'cli/waiting.ts',
      'cli/command.ts',
      'cli/help.ts',
      'cli/doctor',
      'cli/install',
      'cli/compile-cache.ts',
      'cli/client',
      'cli/words.ts',
      'cli/screen',
      'cli/run',
    ],
  },
  'cli/demo': {
    purpose: 'the demo, on the built programs',
    uses: ['protocol/shell.ts', 'cli/io.ts', 'cli/command.ts'],
  },
  'cli/table': {
    purpose: 'the table of commands, by group',
    uses: ['cli/command.ts', 'cli/version.ts', 'cli/help.ts', 'cli/commands', 'cli/run', 'cli/demo'],
  },
  cli: {
    purpose: 'the table joined, the parser that reads it, the entry of the program svc',
    uses: [
      'protocol/build-info.ts',
      'protocol/encoding',
      'daemon/platform',
      'protocol/contract',
      'protocol/control',
      'cli/human',
      'cli/io.ts',
      'protocol/shell.ts',
      'cli/command.ts',
      'cli/version.ts',
      'cli/compile-cache.ts',
      'cli/help.ts',
      'cli/client',
      'cli/table',
    ],
  },
}
