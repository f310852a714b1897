/** What goes over a line between hubs: requests and their answers, whole. */
import type * as http from 'node:http'

export type Asked = { method: string; path: string; headers: http.IncomingHttpHeaders; body: Buffer }
export type Answer = { status: number; headers: http.OutgoingHttpHeaders; body: Buffer }

export function endWith(response: http.ServerResponse, answer: Answer | undefined): void {
  if (answer === undefined || response.destroyed) response.destroy()
  else response.writeHead(answer.status, answer.headers).end(answer.body)
}

export const headOf = ({
  method = 'GET',
  url = '/',
  headers,
}: http.IncomingMessage): Omit<Asked, 'body'> => ({
  method,
  path: url,
  headers,
})

export async function readAsked(request: http.IncomingMessage): Promise<Asked> {
  return { ...headOf(request), body: await bytesOf(request) }
}

/** Undefined where it was cut off. */
export async function answerOf(reply: http.IncomingMessage): Promise<Answer | undefined> {
  const body = await bytesOf(reply).catch(() => undefined)
  return body && { status: reply.statusCode ?? 502, headers: reply.headers, body }
}

async function bytesOf(stream: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
