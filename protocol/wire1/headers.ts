/** Version of wire 1, the header that names it, and what a browser of any origin is let do. */

/** Version in `X-Svc-Wire`. */
export const WIRE1 = 1
/** The header of the version. */
export const WIRE1_HEADER = 'X-Svc-Wire'
/** On every answer: pages of any origin may ask, since no cookie ever helps them. */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  'Access-Control-Allow-Headers': 'Content-Type',
} as const
