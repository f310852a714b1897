/** Header names, content type and version of wire 3 (hub API §5.4, §9). */

/** Version in `X-Svc-Wire`, wire-3 (Headers). */
export const WIRE = 3
/** The release of clients that speak this wire, as refusals name it. */
export const WIRE_RELEASE = '0.3'
/** Below these every method declares the version, also where there is no route; elsewhere a GET need not. */
export const versionedPrefixes = ['/relay/', '/fed/'] as const
/** Content type of a body of `/relay/send`, wire-3 (Headers). */
export const ENVELOPE_TYPE = 'application/vnd.svc.envelope+cbor'

/** Names of the headers; wire-3 (Headers) has the form of each value. */
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
  otherPoll: 'X-Svc-Other-Poll',
} as const

/** The headers that name a sender; an anonymous route refuses them. */
export const identityHeaders = [headers.aid, headers.seq, headers.signature] as const

/** Bytes of the access record in its header at most, before base64url, wire-3 (Headers). */
export const ACCESS_HEADER_BYTES_MAX = 1024
