/** Hub and policies: hub-register, hub-leave, accept, profile, visibility. */

import { GUEST_MESSAGES_MAX } from '../../protocol/control/bounds.ts'
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { notice, printReply, UsageRefused } from '../io.ts'
import { orUnsealed, sayJoined, wayInto } from './joining.ts'
import { boolean, flag, flags, integer, parseSwitch, readPhrase, textOrFile } from './values.ts'

export const register: Run = async (io, input) => {
  const url = input.positionals[0] as string
  const control = connect(io, input)
  const wayIn = await wayInto(io, input, url)
  const caps = flags(input, '--caps')[0]
  const phrase = input.flags.has('--recovery-phrase-stdin') ? await readPhrase(io) : undefined
  const guests = integer(input, '--guest-messages', 'guest_messages')
  if ((guests.guest_messages ?? 0) > GUEST_MESSAGES_MAX)
    throw new UsageRefused(`expected at most ${GUEST_MESSAGES_MAX} for --guest-messages`)
  const given = {
    url,
    ...flag(input, '--name', 'name'),
    ...present({ caps: caps?.split(',').filter(tag => tag !== '') }),
    ...guests,
    ...boolean(input, '--accept-delegations', 'accept_delegations'),
    ...wayIn,
    ...present({ recovery_phrase: phrase }),
  }
  const reply = await orUnsealed(io, more => control.call('hubRegister', { ...given, ...more }))
  printReply(io, reply)
  sayJoined(io, reply)
  return 0
}

export const leave: Run = async (io, input) => {
  const url = input.positionals[0]
  printReply(io, await connect(io, input).call('hubLeave', present({ url })))
  return 0
}

export const accept: Run = async (io, input) => {
  const on = parseSwitch(input.positionals[0] as string, '"accept"', 'on or off')
  printReply(io, await connect(io, input).call('accept', { on }))
  return 0
}

export const profileSet: Run = async (io, input) => {
  const text = (name: string) => {
    const value = flags(input, name)[0]
    return value === undefined ? undefined : textOrFile(io, value, name)
  }
  const [summary, readme, pricing] = [text('--summary'), text('--readme'), text('--pricing')]
  const caps = flags(input, '--caps')[0]
    ?.split(',')
    .filter(tag => tag !== '')
  if ([summary, readme, pricing, caps].every(one => one === undefined)) {
    throw new UsageRefused('expected --summary, --readme, --pricing or --caps', 'svc help "profile set"')
  }
  const reply = await connect(io, input).call('profileSet', {
    ...present({ summary, readme, pricing, caps }),
  })
  printReply(io, reply)
  if (reply.note !== undefined) notice(io, reply.note)
  return 0
}

export const visibility: Run = async (io, input) => {
  const wanted = input.positionals[0] as 'hub-local'
  printReply(io, await connect(io, input).call('visibility', { visibility: wanted }))
  return 0
}
