/** Commands of a later release, whose lines are understood already. */
import type { CommandRow } from '../command.ts'
import { may, need, on, takes } from './row.ts'

const absent = () => import('../commands/absent.ts')

const later = (row: Omit<CommandRow, 'group' | 'needsDaemon' | 'ofHome'>): CommandRow => ({
  ...row,
  group: 'later',
  needsDaemon: false,
  ofHome: true,
})

export const laterCommands: readonly CommandRow[] = [
  later({
    path: 'redeem',
    summary: 'give credits back to the hub',
    positionals: [need('amount', 'a whole number of credits')],
    flags: [takes('--ref', 'REFERENCE', 'what the operator shall pay out against')],
    example: 'svc redeem 100 --ref invoice-7',
    load: async () => (await absent()).payment,
  }),
  later({
    path: 'reconcile',
    summary: "compare one's own payment records with the ledger of the hub",
    example: 'svc reconcile',
    load: async () => (await absent()).payment,
  }),
  later({
    path: 'audit-hub',
    summary: 'verify the chain in which the hub records what it issued',
    example: 'svc audit-hub',
    load: async () => (await absent()).payment,
  }),
  later({
    path: 'x402-authorize',
    aliases: ['pay-header'],
    summary: 'print the value of a PAYMENT-SIGNATURE header',
    flags: [
      takes('--pay-to', 'AID', 'who is paid'),
      takes('--amount', 'CREDITS', 'how many credits'),
      takes('--network', 'NETWORK', "the network, hub:<AID of the hub>; without it that of one's own hub"),
      takes('--interaction', 'ID', 'the interaction that is paid for'),
    ],
    example: 'svc x402-authorize --pay-to <aid> --amount 5',
    load: async () => (await absent()).payment,
  }),
  later({
    path: 'p2p-advertise',
    summary: 'publish an address for direct connections; none withdraws it',
    positionals: [may('addr', 'host:port; without it the address is withdrawn')],
    example: 'svc p2p-advertise 192.0.2.7:4001',
    load: async () => (await absent()).p2p,
  }),
  later({
    path: 'console',
    summary: 'open the console of the node in a browser',
    flags: [on('--url', 'only print its address')],
    example: 'svc console --url',
    load: async () => (await absent()).console,
  }),
  later({
    path: 'tui',
    summary: 'the inbox in a terminal',
    example: 'svc tui',
    load: async () => (await absent()).tui,
  }),
]
