/** Several lines behind one listener. They may share paths, so a line is chosen before anything is routed. */
import type { IncomingMessage } from 'node:http'
import type { Line } from './line.ts'

/** Each request goes to the first line that it says it is for; one that says nothing goes to the first of all. */
export function choosing(lines: readonly [Line, ...Line[]]): Line {
  const [first, ...others] = lines
  if (others.length === 0) return first
  const lineOf = (request: IncomingMessage): Line => lines.find(line => line.speaks(request)) ?? first
  return {
    speaks: request => lines.some(line => line.speaks(request)),
    handle: (request, response) => lineOf(request).handle(request, response),
    answerUnparsed: fault => first.answerUnparsed(fault),
  }
}
