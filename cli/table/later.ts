/** Commands of a later release, whose lines are understood already. */
import type { CommandRow } from '../command.ts'
import { may } from './row.ts'

const absent = () => import('../commands/absent.ts')

const later = (row: Omit<CommandRow, 'group' | 'needsDaemon' | 'ofHome'>): CommandRow => ({
  ...row,
  group: 'later',
  needsDaemon: false,
  ofHome: true,
})

export const laterCommands: readonly CommandRow[] = [
  later({
    path: 'p2p-advertise',
    summary: 'publish an address for direct connections; none withdraws it',
    positionals: [may('addr', 'host:port; without it the address is withdrawn')],
    example: 'svc p2p-advertise 192.0.2.7:4001',
    load: async () => (await absent()).p2p,
  }),
]
