/** What `svc-hub invite` does: letting a new agent join by a code. */
import type { Config } from '../config.ts'
import { INVITE_DAYS_MAX } from '../operator/order-shapes.ts'
import { type Flags, order, UsageError } from './commands.ts'

const NAME = /^[0-9a-f]{8}$/

export async function invite(
  [what, name]: (string | undefined)[],
  { days }: Flags,
  config: Config,
): Promise<number> {
  if (days !== undefined && what !== 'new') throw new UsageError('--days goes with new')
  if (name !== undefined && what !== 'revoke') throw new UsageError(`unexpected argument: ${name}`)
  switch (what) {
    case 'new':
      return await order(
        { command: 'invites', make: days === undefined ? {} : { days: daysOf(days) } },
        config,
      )
    case 'revoke':
      if (name === undefined || !NAME.test(name))
        throw new UsageError('expected the name of an invitation: 8 characters of 0-9 and a-f')
      return await order({ command: 'invites', revoke: name }, config)
    case undefined:
    case 'ls':
      return await order({ command: 'invites' }, config)
    default:
      throw new UsageError(`expected new, ls or revoke, got ${what}`)
  }
}

function daysOf(text: string | boolean): number {
  const days = typeof text === 'string' && /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > INVITE_DAYS_MAX)
    throw new UsageError(`--days expects a whole number from 1 to ${INVITE_DAYS_MAX}`)
  return days
}
