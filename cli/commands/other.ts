/** `svc watch`: the node's events as lines of JSON. */
import { connect } from '../client/control.ts'
import { streamEvents } from '../client/events.ts'
import type { Run } from '../command.ts'
import { jsonText, sayOnTerminal } from '../io.ts'
import { flags } from './values.ts'

export const watch: Run = async (io, input) => {
  const [since] = flags(input, '--since')
  const options = { since, signal: io.output.lost }
  sayOnTerminal(io, 'waiting for events of the node; Ctrl-C ends this')
  await streamEvents(io, connect(io, input).target, options, event =>
    io.out(io.human === undefined ? `${jsonText(event)}\n` : `${io.human({ at: io.now(), ...event })}\n`),
  )
  return 0
}
