/** Commands for credits: what there is, what this node asks, what it may spend. */
import type { CommandRow } from '../command.ts'
import { need, on, takes } from './row.ts'

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
    summary: 'what this node asks for its work',
    example: 'svc price ls',
    load: async () => (await credits()).priceLs,
  },
  {
    path: 'price set',
    group: 'credits',
    needsDaemon: true,
    summary: 'ask so many credits for each call of a capability, or for each task in words',
    positionals: [
      need('capability', 'one that this node serves (svc capability ls), or task: every task in words'),
      need('amount', 'a whole number of credits'),
    ],
    example: 'svc price set sensor.temperature 5',
    load: async () => (await credits()).priceSet,
  },
  {
    path: 'price rm',
    group: 'credits',
    needsDaemon: true,
    summary: 'work for nothing again',
    positionals: [need('capability', 'the capability, or task')],
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
  {
    path: 'redeem',
    group: 'credits',
    needsDaemon: true,
    summary: 'give credits back to the hub',
    positionals: [need('amount', 'a whole number of credits')],
    flags: [takes('--ref', 'REFERENCE', 'what the operator shall pay out against (a new one)')],
    example: 'svc redeem 100 --ref invoice-7',
    load: async () => (await credits()).redeem,
  },
  {
    path: 'reconcile',
    group: 'credits',
    needsDaemon: true,
    summary: "compare one's own payment records with the ledger of the hub",
    example: 'svc reconcile',
    load: async () => (await credits()).reconcile,
  },
  {
    path: 'x402-authorize',
    aliases: ['pay-header'],
    group: 'credits',
    needsDaemon: true,
    summary: 'print the value of a PAYMENT-SIGNATURE header',
    flags: [
      takes('--pay-to', 'AID', 'who is paid: petname or AID'),
      takes('--amount', 'CREDITS', 'how many credits'),
      takes('--network', 'NETWORK', "the network, hub:<AID of the hub>; without it that of one's own hub"),
      takes('--interaction', 'ID', 'the interaction that is paid for'),
    ],
    example: 'svc x402-authorize --pay-to bob --amount 5',
    load: async () => (await credits()).payHeader,
  },
  {
    path: 'audit-hub',
    group: 'credits',
    needsDaemon: true,
    summary: 'verify what the hub publishes of its credits, and that it counts yours',
    flags: [
      on('--all', 'every record from the first on, and every signature'),
      on('--accept', 'pay in its credits again, whatever was found'),
    ],
    example: 'svc audit-hub',
    load: async () => (await credits()).auditHub,
  },
]
