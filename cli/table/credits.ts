/** Commands for credits: what there is, what this node asks, what it may spend. */
import type { CommandRow } from '../command.ts'
import { need, takes } from './row.ts'

const credits = () => import('../commands/credits.ts')

export const creditCommands: readonly CommandRow[] = [
  {
    path: 'balance',
    aliases: ['credits'],
    group: 'credits',
    needsDaemon: true,
    summary: 'show the balance at the hub and its latest entries',
    example: 'svc balance',
    load: async () => (await credits()).balance,
  },
  {
    path: 'price ls',
    aliases: ['prices'],
    group: 'credits',
    needsDaemon: true,
    summary: 'what this node asks for its capabilities',
    example: 'svc price ls',
    load: async () => (await credits()).priceLs,
  },
  {
    path: 'price set',
    group: 'credits',
    needsDaemon: true,
    summary: 'ask so many credits for each call of a capability',
    positionals: [
      need('capability', 'one that this node serves: svc capability ls'),
      need('amount', 'a whole number of credits'),
    ],
    example: 'svc price set sensor.temperature 5',
    load: async () => (await credits()).priceSet,
  },
  {
    path: 'price rm',
    group: 'credits',
    needsDaemon: true,
    summary: 'serve a capability for nothing again',
    positionals: [need('capability', 'the capability')],
    example: 'svc price rm sensor.temperature',
    load: async () => (await credits()).priceRm,
  },
  {
    path: 'spend show',
    group: 'credits',
    needsDaemon: true,
    summary: 'what may be spent without a person, and what was today',
    example: 'svc spend show',
    load: async () => (await credits()).spendShow,
  },
  {
    path: 'spend set',
    group: 'credits',
    needsDaemon: true,
    summary: 'let the node or an agent pay without asking; a person approves the rest: svc approve <id>',
    flags: [
      takes('--auto', 'N', 'credits for one payment that the node makes by itself (0)'),
      takes('--agent', 'N', 'credits for one payment that an agent orders through its tools (0)'),
      takes('--day', 'N', 'credits for all of these in one UTC day (0)'),
      takes('--payee-day', 'N', 'credits for those of them to one agent (0)'),
    ],
    example: 'svc spend set --agent 10 --day 50 --payee-day 20',
    load: async () => (await credits()).spendSet,
  },
]
