/** Calls to a hub that anybody may make, and how requests leave. */
import { type Call, call, type Send } from '../../protocol/contract/client.ts'
import type { ReplyOf, RouteRow } from '../../protocol/contract/route.ts'
import { headers, WIRE } from '../../protocol/wire3/headers.ts'

/** A redirect is no answer: what was signed for one place is not shown to another. */
export const send: Send = ({ url, ...rest }) =>
  fetch(url, { ...rest, redirect: 'error', duplex: 'half' } as RequestInit)

/** Throws what {@link call} throws. `dateMs`: what the answer has as its date, Unix ms. */
export async function openCall<R extends RouteRow>(
  row: R,
  baseUrl: string,
  signal: AbortSignal,
): Promise<{ reply: ReplyOf<R>; dateMs: number | undefined }> {
  let date = Number.NaN
  const asked = { baseUrl, headers: { [headers.wire]: String(WIRE) }, signal }
  const dated: Send = async request => {
    const response = await send(request)
    date = Date.parse(response.headers.get('Date') ?? '')
    return response
  }
  const reply = await call(row, dated, asked as unknown as Call<R>)
  return { reply, dateMs: Number.isNaN(date) ? undefined : date }
}
