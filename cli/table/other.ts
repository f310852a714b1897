/** Commands for the rest. */
import type { CommandRow } from '../command.ts'
import { allStepNames } from '../demo/step-names.ts'
import { may, need, on, takes } from './row.ts'

export const otherCommands: readonly CommandRow[] = [
  {
    path: 'demo',
    group: 'other',
    ofHome: true,
    needsDaemon: false,
    summary: 'the main job on this machine: a hub, two nodes, one task, its proof',
    flags: [
      on('--pay', 'one agent pays the other: price, hold, work, what was taken or given back'),
      takes(
        '--hubs',
        'N',
        'three hubs that list each other: a task from one to the next, one of them killed',
        ['3'],
      ),
      takes('--wire', 'N', 'at a hub that seals nothing: a visitor, the task board, a voucher for one use', [
        '1',
      ]),
      on('--tui', 'then both inboxes beside each other, where tmux is installed'),
      on('--json', 'print one object instead of lines'),
      takes(
        '--break',
        'STEP',
        `spoil one step, to see that the demo notices: ${allStepNames.join(', ')}`,
        allStepNames,
      ),
      on('--exit', 'end after the last step'),
    ],
    example: 'svc demo --exit',
    load: async () => (await import('../demo/demo.ts')).demo,
  },
  {
    path: 'completion',
    reads: true,
    group: 'other',
    ofHome: true,
    needsDaemon: false,
    summary: 'print what makes a shell complete commands and flags',
    positionals: [{ ...need('bash|zsh|fish', 'your shell'), values: ['bash', 'zsh', 'fish'] }],
    example: 'svc completion bash',
    load: async () => (await import('../commands/completion.ts')).completion,
  },
  {
    path: 'version',
    reads: true,
    aliases: ['--version', '-v'],
    group: 'other',
    ofHome: true,
    needsDaemon: false,
    client: true,
    summary: 'version, commit, build time, modules',
    example: 'svc version',
    load: async () => (await import('../version.ts')).version,
  },
  {
    path: 'help',
    reads: true,
    aliases: ['--help', '-h'],
    group: 'other',
    ofHome: true,
    needsDaemon: false,
    client: true,
    summary: 'this help; --all lists every flag',
    positionals: [{ ...may('command', 'a command or the first word of several'), repeat: true }],
    flags: [on('--all', 'every command with every flag')],
    example: 'svc help hub-register',
    load: async () => (await import('../help.ts')).help,
  },
  {
    path: 'welcome',
    reads: true,
    group: 'other',
    ofHome: true,
    needsDaemon: false,
    summary: 'this help and, on a terminal, the ways on of a node without a hub: what svc alone prints',
    example: 'svc welcome',
    load: async () => (await import('../commands/ways.ts')).welcome,
  },
]
