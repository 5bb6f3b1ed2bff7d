/**
 * The partition of an account's opening balances in its statistics. Partitions of visits are from 0 on, and a negative
 * one has only opening balances.
 *
 * @param partition of the topic of links
 */
export const openingsPartition = (partition: number): number => -1 - partition;
