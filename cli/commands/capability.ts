/** `svc capability`: what the node serves itself, and trying it. */
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { notice, printReply } from '../io.ts'
import { flags, json } from './values.ts'

export const ls: Run = async (io, input) => {
  const reply = await connect(io, input).call('capabilityList')
  printReply(io, reply)
  if (reply.capabilities.length === 0) notice(io, NONE_SERVED)
  return 0
}

const NONE_SERVED =
  'this node serves no capability; name a service of yours under "modules" in its config.json, as docs/providers.md shows, then: svc stop && svc up'

/** Exit code 1 when the effect is neither OK nor done without a way to check it. */
export const test: Run = async (io, input) => {
  const args = flags(input, '--args').length === 0 ? {} : { args: json(input, '--args') }
  const capability = input.positionals[0] as string
  const effect = await connect(io, input).call('capabilityTest', { capability, ...args })
  printReply(io, effect)
  return effect.status === 'OK' || effect.status === 'UNVERIFIED' ? 0 : 1
}
