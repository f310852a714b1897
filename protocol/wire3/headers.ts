/** Header names, content type and version of wire 3 (hub API §5.4, §9). */

export const WIRE = 3
export const WIRE_RELEASE = '0.3'
/** Below these every method declares the version, also where there is no route; elsewhere a GET need not. */
export const versionedPrefixes = ['/relay/', '/fed/'] as const
export const ENVELOPE_TYPE = 'application/vnd.svc.envelope+cbor'

export const headers = {
  wire: 'X-Svc-Wire',
  aid: 'X-Svc-AID',
  ts: 'X-Svc-TS',
  seq: 'X-Svc-Seq',
  signature: 'X-Svc-Sig',
  access: 'X-Svc-Access',
  session: 'X-Svc-Session',
  mac: 'X-Svc-MAC',
  home: 'X-Svc-Home',
  floor: 'X-Svc-TS-Floor',
} as const

/** The headers that name a sender; an anonymous route refuses them. */
export const identityHeaders = [headers.aid, headers.seq, headers.signature] as const

export const ACCESS_HEADER_BYTES_MAX = 1024
