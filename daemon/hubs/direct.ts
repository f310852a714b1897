/** Direct addresses of agents, as a hub lists them: the word of whoever published one, and of the hub. */
export interface DirectAddresses {
  /** Any text; undefined where the hub lists none. */
  addressOf(aid: string, signal?: AbortSignal): Promise<string | undefined>
  /** Lists an address of this agent; the empty one takes it off. */
  advertise(address: string): Promise<void>
}
