/** Where somebody is reached without a hub, as text. */

/** Bytes of an address at most. */
export const DIRECT_ADDRESS_BYTES_MAX = 256
const PORT_MAX = 65_535
const ADDRESS = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]):([0-9]{1,5})$/i

/** Whether a text is a host and a port at which somebody can be reached. */
export function isDirectAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[1] ?? 0)
  return text.length <= DIRECT_ADDRESS_BYTES_MAX && port > 0 && port <= PORT_MAX
}
