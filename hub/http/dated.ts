/** Answers that tell the hub's time as they begin, however long the request was held: callers set their times by it. */
import { type IncomingMessage, ServerResponse } from 'node:http'

const SECOND_MS = 1000

export function dated(now: () => number): typeof ServerResponse {
  let written = { second: 0, text: '' }

  /** As headers write a time; made once a second. */
  function dateText(): string {
    const nowMs = now()
    const second = Math.floor(nowMs / SECOND_MS)
    if (second !== written.second) written = { second, text: new Date(nowMs).toUTCString() }
    return written.text
  }

  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(...given: [number, ...unknown[]]): this {
      this.setHeader('Date', dateText())
      return Reflect.apply(super.writeHead, this, given)
    }
  }
}
